/** What an event of a task says. */

/** Small facts that a caller may see; never a provider's words. */
export type EventDetail = Readonly<Record<string, string | number | boolean>>;
