/**
 * Time that passes in a test. Nobody may wait like this for something to happen: how long that takes depends on the
 * machine, and `until.ts` waits for the thing itself. It is for what only time brings about: a sender that keeps its
 * pace, a limit that must not have ended somebody after it. A slow machine only makes it longer.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** @param ms at least; more on a busy machine. */
export async function letPass(ms: number): Promise<void> {
  await sleep(ms);
}
