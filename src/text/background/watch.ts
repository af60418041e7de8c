/**
 * Notices that attempts of this process may no longer record anything, because their call was cancelled or another
 * attempt has begun: one statement a second for all of them.
 */
import type { Queryable } from '../../database/database.ts';
import type { Logger } from '../../telemetry/log.ts';
import { findSuperseded } from './call-record.ts';
import type { BackgroundCall } from './call-record.ts';

const CHECK_EVERY_MS = 1_000;

type WatchedAttempt = Pick<BackgroundCall, 'id' | 'attempt'>;

export interface AttemptWatch {
  /** @param onSuperseded called at most once; must not throw. @returns a function that ends the watch. */
  add(attempt: WatchedAttempt, onSuperseded: () => void): () => void;
}

export function createAttemptWatch({
  database,
  logger,
}: {
  readonly database: Queryable;
  readonly logger: Logger;
}): AttemptWatch {
  const watched = new Map<WatchedAttempt, () => void>();
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;

  const check = async (): Promise<void> => {
    const attempts = [...watched.keys()];
    const superseded = new Set((await findSuperseded(database, attempts)).map(keyOf));
    for (const attempt of attempts) {
      if (!superseded.has(keyOf(attempt))) continue;
      watched.get(attempt)?.();
      watched.delete(attempt);
    }
  };

  const tick = async (): Promise<void> => {
    try {
      await check();
      failures = 0;
    } catch (error) {
      if (failures === 0) logger.warn({ err: error }, 'watching text calls in the background failed; retrying');
      failures += 1;
    }
    timer = undefined;
    schedule();
  };

  const schedule = (): void => {
    if (timer !== undefined || watched.size === 0) return;
    timer = setTimeout(() => void tick(), CHECK_EVERY_MS).unref();
  };

  return {
    add(attempt, onSuperseded) {
      watched.set(attempt, onSuperseded);
      schedule();
      return () => void watched.delete(attempt);
    },
  };
}

function keyOf({ id, attempt }: WatchedAttempt): string {
  return `${id}:${attempt}`;
}
