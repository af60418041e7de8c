/** Reading JSON of any form. */

/** Whether a value is an object with members, and no list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of an object or a list; undefined: there is none. */
export function memberOf(value: unknown, name: string): unknown {
  return hasMember(value, name) ? value[name] : undefined;
}

/** Whether an object or a list has an own member. */
export function hasMember(value: unknown, name: string): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}
