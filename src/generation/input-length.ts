/**
 * How long the audio and video of an input are, where the price counts their seconds. What is held is a bound that the
 * caller sets, or the model: a longer file is rejected before its provider is asked to work on it.
 */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { ByteSource } from '@darkroom/media/byte-source';
import type { ModelDefinition } from '../catalogue/definition.ts';
import { quote } from '../catalogue/price.ts';
import { decimalOf, isAbove } from '../domain/money.ts';
import type { InputFile } from '../providers/provider.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { MediaField } from '../tasks/record/input-media.ts';
import type { GenerationContext } from './context.ts';
import { invalidInput } from './failure.ts';

/** A smaller file has no more than the head of a container. */
const LEAST_BYTES = 256;

/** Whether the length of a field's files counts. */
export function isPricedByLength({ pricing }: ModelDefinition, { accepts }: MediaField): boolean {
  return pricing.unit === 'input_second' && accepts.some((type) => /^(audio|video)\//.test(type));
}

/**
 * Measures files by what their containers state.
 *
 * @returns seconds; undefined: a file does not state its length, and only its provider can measure it.
 * @throws {GenerationFailure} `input_invalid`: they are longer than what was held pays for, or one is empty.
 */
export async function measureInput(
  context: GenerationContext,
  task: Pick<WorkingTask, 'accountId' | 'input'>,
  { pricing }: ModelDefinition,
  files: readonly { readonly field: MediaField; readonly file: InputFile }[],
): Promise<number | undefined> {
  const lengths: number[] = [];
  for (const { field, file } of files) {
    const seconds = await lengthOf(context, task.accountId, file);
    if (seconds === undefined) return undefined;
    if (seconds === 0) throw invalidInput('undecodable', field.path);
    lengths.push(seconds);
  }
  const sum = lengths.reduce((total, seconds) => total + seconds, 0);
  const measured = decimalOf(sum.toFixed(3));
  const longest = files[lengths.indexOf(Math.max(...lengths))];
  if (measured !== undefined && longest !== undefined && isAbove(measured, quote(pricing, task.input).quantity)) {
    throw invalidInput('longer_than_held', longest.field.path);
  }
  return sum;
}

async function lengthOf(
  { inspector }: GenerationContext,
  accountId: string,
  { path }: InputFile,
): Promise<number | undefined> {
  const handle = await open(path);
  try {
    const source = await sourceOf(handle);
    const { durationSeconds, isEmpty = source.sizeBytes < LEAST_BYTES } = await inspector.inspect(accountId, source);
    return durationSeconds ?? (isEmpty ? 0 : undefined);
  } finally {
    await handle.close();
  }
}

async function sourceOf(handle: FileHandle): Promise<ByteSource> {
  const { size } = await handle.stat();
  return {
    sizeBytes: size,
    async read(start, end) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
      return buffer.subarray(0, bytesRead);
    },
  };
}
