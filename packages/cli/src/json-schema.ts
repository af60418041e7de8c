/** A JSON Schema, or a part of one; keywords that are not known here are ignored. */
export type JsonSchema = Readonly<Record<string, unknown>>;
