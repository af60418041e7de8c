/**
 * One text for equal JSON values, whatever the order of their fields: the input of the hashes of definitions and of
 * request bodies. Arrays keep their order, and an explicit `null` is not an absent field (contract §2).
 */

/** JSON with the fields of every object in code-unit order, so that equal values have equal JSON. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}
