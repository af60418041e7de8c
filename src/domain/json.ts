/** Reading JSON of any form, and one text for equal values. */

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

/**
 * JSON with the fields of every object in code-unit order, so that equal values have one text: the input of the hashes
 * of definitions and of request bodies. Arrays keep their order, and an explicit `null` is not an absent field (contract
 * §2).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}
