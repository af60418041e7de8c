/** The detail of a task's event. */

/** Short values that a caller may see; never a message of a provider. */
export type EventDetail = Readonly<Record<string, string | number | boolean>>;
