/** One thing that is wrong with a request, in a form for programs. */
export interface Violation {
  /** The message for people; it includes the field. */
  readonly message: string;
  /** The message without its beginning and the field, for a place that shows the field. Absent: it cannot do without. */
  readonly problem?: string;
  /** The dotted position in the request: `input.image_urls.2`; '' for the whole of it. */
  readonly field: string;
  /** The violated keyword of JSON Schema, or our own name for a rule that no schema states: `unique`, `url`. */
  readonly keyword: string;
  /**
   * What the offending value is, where a code for the violation depends on it: a number of the one kind or the other
   * beyond its bounds, or a string or an array that is empty. Not sent.
   */
  readonly valueKind?: 'integer' | 'decimal' | 'empty' | undefined;
}

/** The beginning of a message: `invalid input: ` inside `input`, `invalid request: ` elsewhere. */
export type ViolationPrefix = 'invalid input' | 'invalid request' | 'invalid model file' | 'invalid provider file';

/** @param problem what is wrong with the field. */
export function violation(prefix: ViolationPrefix, field: string, keyword: string, problem: string): Violation {
  const position = field === '' ? '' : `${field}: `;
  return { message: `${prefix}: ${position}${problem}`, problem, field: fieldInRequest(prefix, field), keyword };
}

/** @param field its position in the part of the request that the prefix names. */
export function fieldInRequest(prefix: ViolationPrefix, field: string): string {
  if (prefix !== 'invalid input') return field;
  return field === '' ? 'input' : `input.${field}`;
}
