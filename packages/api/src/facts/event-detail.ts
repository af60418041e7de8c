/** The detail of a task's event. */

/** Small facts that a caller may see; never the text of a provider. */
export type EventDetail = Readonly<Record<string, string | number | boolean>>;
