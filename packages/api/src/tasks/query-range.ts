/**
 * A query with a lower and an upper bound of time. Bounds in the wrong order are a mistake of the caller, and an
 * empty response would hide it: every list and sum, and the commands of operators, reject them alike (contract §1).
 */

/** A bound as it was given: Unix seconds, or a day as `2026-11-01`, both bounds alike. */
export type RangeBound = number | string;

/**
 * @param lower name and value of the first bound. @param upper of the other one; an equal value is in order.
 * @returns what is wrong, beginning with the field; undefined where a bound is not given or they are in order.
 */
export function rangeProblem(
  [lowerName, lower]: readonly [name: string, value: RangeBound | undefined],
  [upperName, upper]: readonly [name: string, value: RangeBound | undefined],
): string | undefined {
  if (lower === undefined || upper === undefined || lower <= upper) return undefined;
  return `${lowerName}: maximum: got ${lower}, want ${upper}, the value of ${upperName}`;
}
