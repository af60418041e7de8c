/**
 * Determines why a task's deadline passed: if the store is unavailable at that moment, the outputs could not be
 * stored, and the task reports that (contract §3 `STORAGE_UNAVAILABLE`).
 */
import type { GenerationContext } from './context.ts';
import { permanentFailure } from './failure.ts';
import { DeadlinePassedError } from './stopping.ts';

/**
 * How long the object store may take to respond, in milliseconds; an attempt ends some 30 s after the task's deadline.
 */
const CHECK_WITHIN_MS = 5_000;

/**
 * Wraps work that stores something.
 *
 * @throws {GenerationFailure} `storage_unavailable` instead of an exceeded deadline.
 */
export function classifyStorageTimeout<Input, Result>(
  context: Pick<GenerationContext, 'store'>,
  work: (input: Input) => Promise<Result>,
): (input: Input) => Promise<Result> {
  return async (input) => {
    try {
      return await work(input);
    } catch (error) {
      if (error instanceof DeadlinePassedError && !(await isThere(context)))
        throw permanentFailure('storage_unavailable');
      throw error;
    }
  };
}

async function isThere({ store }: Pick<GenerationContext, 'store'>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_WITHIN_MS);
  });
  const isFine = store.check().then(
    () => true,
    () => false,
  );
  return Promise.race([isFine, tooLate]).finally(() => clearTimeout(timer));
}
