/**
 * How long the audio and video of an input are, where the price counts their seconds: as they were measured, and never
 * as a client or a provider says. What is held is a bound that the caller sets, or the model: a longer file is rejected
 * before its provider is asked to work on it, and so is one that cannot be measured.
 */
import type { ModelDefinition } from '../catalogue/definition.ts';
import { quote } from '../catalogue/price.ts';
import { decimalOf, isAbove } from '../domain/money.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { MediaField } from '../tasks/record/input-media.ts';
import { invalidInput } from './failure.ts';

/** Whether the length of a field's files counts. */
export function isPricedByLength({ pricing }: ModelDefinition, { accepts }: MediaField): boolean {
  return pricing.unit === 'input_second' && accepts.some((type) => /^(audio|video)\//.test(type));
}

/**
 * Sums up the lengths of files.
 *
 * @returns seconds.
 * @throws {GenerationFailure} `input_invalid`: they are longer than what was held pays for, or one has no length.
 */
export function sumLengths(
  { input }: Pick<WorkingTask, 'input'>,
  { pricing }: ModelDefinition,
  files: readonly { readonly field: MediaField; readonly durationSeconds: number | null }[],
): number {
  let [sum, longest] = [0, 0];
  let longestPath: MediaField['path'] = [];
  for (const { field, durationSeconds } of files) {
    if (durationSeconds === null) throw invalidInput('undecodable', field.path);
    sum += durationSeconds;
    if (durationSeconds > longest) [longest, longestPath] = [durationSeconds, field.path];
  }
  const measured = decimalOf(sum.toFixed(3));
  if (measured !== undefined && isAbove(measured, quote(pricing, input).quantity)) {
    throw invalidInput('longer_than_held', longestPath);
  }
  return sum;
}
