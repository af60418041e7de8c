/**
 * Time that passes in a test. No test may wait like this for something to happen: how long that takes depends on the
 * machine, and `@darkroom/testing/wait-for` waits for the condition itself. It is for effects of time alone: a sender that keeps its
 * pace, a limit that must not have ended a connection after it. A slow machine only makes it longer.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** @param ms at least; more on a busy machine. */
export async function letPass(ms: number): Promise<void> {
  await sleep(ms);
}
