/** A JSON Schema, or a part of one; other keywords are ignored. */
export type JsonSchema = Readonly<Record<string, unknown>>;
