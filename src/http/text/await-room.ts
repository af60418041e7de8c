/** Waits on behalf of a call whose client does not until a task can be created: what fails for others is only later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { reasonOf } from './await-task.ts';

/** For how long. The text call of the image has its money held meanwhile. */
const WAITS_FOR_ROOM_MINUTES = 60;

/**
 * Repeats work that creates a task while something that passes is in its way: a rate limit, a full queue, a daily cap.
 *
 * @throws {TextFailure} the signal was aborted. @throws what the work throws, after an hour also that.
 */
export async function whenThereIsRoom<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  const endsAt = performance.now() + WAITS_FOR_ROOM_MINUTES * 60_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isLater = error instanceof DarkroomError && error.waitsFor !== undefined;
      if (!isLater || performance.now() >= endsAt) throw error;
      await sleep(waitMsOf(error), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw reasonOf(signal);
    }
  }
}

/** Spread, so that the images of many calls are not tried together. */
function waitMsOf({ retryAfterSeconds = 1 }: DarkroomError): number {
  return Math.max(1, retryAfterSeconds) * 1_000 * (1 + Math.random() / 2);
}
