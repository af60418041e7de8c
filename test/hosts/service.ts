/** What runs on a host, and when it can be used. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Launch } from '../../src/standalone/processes.ts';

export interface Service {
  readonly launch: () => Launch | Promise<Launch>;
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** The signal that stops it gracefully; SIGTERM if absent. */
  readonly stopSignal?: NodeJS.Signals;
}

/** Tries until it succeeds; what does not answer counts as a failure by itself. */
export async function untilSuccess(attempt: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const hasSucceeded = await attempt().then(
      () => true,
      () => false,
    );
    if (hasSucceeded) return;
    await sleep(50, undefined, { signal });
  }
}
