/**
 * Answers the text calls in the background that are due. What keeps a call from being made twice is that one attempt of
 * it is alive (src/text/background/call-record.ts).
 */
import { setMaxListeners } from 'node:events';
import { WorkerStoppingError } from '../generation/stopped.ts';
import { claimDueCalls } from '../text/background/call-record.ts';
import type { BackgroundContext } from '../text/background/context.ts';
import { runBackgroundCall } from '../text/background/run.ts';
import { startClaimRunner } from './claim-runner.ts';
import type { DueWork } from './claim-runner.ts';

const SLOTS = 100;
const CLAIMED_TOGETHER = 10;

/** @param graceMs how long attempts that an upstream works on may take when the process stops. */
export function startBackgroundRunner(context: BackgroundContext, graceMs: number): DueWork {
  const { database, logger, ledger } = context;
  const [stopping, ending] = [new AbortController(), new AbortController()];
  // Each attempt adds a listener.
  setMaxListeners(0, stopping.signal, ending.signal);
  const stops = { stopping: stopping.signal, ending: ending.signal };
  const runner = startClaimRunner({
    what: 'text calls in the background',
    slots: SLOTS,
    claimedTogether: CLAIMED_TOGETHER,
    claim: (without, limit) => claimDueCalls(database, ledger.processId, without, limit),
    work: ({ id }) => runBackgroundCall(context, id, stops),
    logger,
  });
  return {
    wake: () => runner.wake(),
    async close() {
      stopping.abort(new WorkerStoppingError());
      await runner.close(graceMs, () => ending.abort(new WorkerStoppingError()));
    },
  };
}
