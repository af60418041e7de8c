/**
 * How many turns a model has in one answer, and what all of them come to at most. A model that may call the built-in
 * tool has a turn after each call, whose input is the conversation so far.
 */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';

/** The maximum number of images that are generated for one response. The limit is ours. */
export const MAX_IMAGES = 4;

/**
 * The most tokens that a call and its output add to the input, in addition to what the model has written: two messages
 * of a template, what it writes around a call, and the output (responses/image-calls.ts), of at most 600 bytes, escaped.
 */
const PER_CALL = 1_536;

/** @param images how many may be generated. @returns the maximum number of turns. */
function turnsFor(images: number): number {
  return images + 1;
}

/**
 * The most input tokens of all turns together.
 *
 * @param inputTokens the bound of the first turn. @param maxOutputTokens the cap of all turns together.
 */
export function inputOfTurns(
  inputTokens: number,
  maxOutputTokens: number,
  images: number,
  { contextTokens }: Pick<TextModelDefinition, 'contextTokens'>,
): number {
  let sum = inputTokens;
  for (let turn = 1; turn < turnsFor(images); turn++) {
    const most = inputTokens + maxOutputTokens + images * PER_CALL;
    // An upstream rejects what does not fit the context; a bound may be above it.
    sum += Math.min(most, Math.max(contextTokens, inputTokens));
  }
  return sum;
}
