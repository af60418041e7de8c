/** OpenAI's codes for what is wrong with a parameter: its clients branch on them (contract §9.8). */
import type { Violation } from '@darkroom/api/facts/violation';

const CODES: Readonly<Record<string, string>> = {
  required: 'missing_required_parameter',
  type: 'invalid_type',
  additionalProperties: 'unknown_parameter',
  maxLength: 'string_above_max_length',
  minLength: 'string_below_min_length',
  maxItems: 'array_above_max_length',
  minItems: 'array_below_min_length',
};

/** Of an empty value that must not be empty. */
const EMPTY_CODES: Readonly<Record<string, string>> = { minLength: 'empty_string', minItems: 'empty_array' };

/** After `integer_` or `decimal_`. */
const BOUND_CODES: Readonly<Record<string, string>> = {
  maximum: 'above_max_value',
  exclusiveMaximum: 'above_max_value',
  minimum: 'below_min_value',
  exclusiveMinimum: 'below_min_value',
};

/** The code for a violation. */
export function openAiCodeOf({ keyword, valueKind }: Pick<Violation, 'keyword' | 'valueKind'>): string {
  const empty = valueKind === 'empty' ? EMPTY_CODES[keyword] : undefined;
  if (empty !== undefined) return empty;
  const bound = BOUND_CODES[keyword];
  if (bound === undefined) return CODES[keyword] ?? 'invalid_value';
  if (valueKind === 'integer') return `integer_${bound}`;
  return valueKind === 'decimal' ? `decimal_${bound}` : 'invalid_value';
}
