/**
 * Works on the batches that are due, in an api: it creates tasks, which needs the catalogue as it is now and not the
 * definitions that tasks have pinned.
 */
import { setMaxListeners } from 'node:events';
import { advanceBatch } from '../batches/advance.ts';
import { claimDueBatches, postponeBatch, renewBatchLeases } from '../batches/batch-record.ts';
import type { BatchContext } from '../batches/context.ts';
import { createPaces } from '../batches/pace.ts';
import { WorkerStoppingError } from '../generation/stopped.ts';
import type { HttpContext } from '../http/app/context.ts';
import { createLineBodies } from '../http/bodies/json-body.ts';
import { createLineEndpoints } from '../http/media-calls/line-endpoints.ts';
import { startClaimRunner } from './claim-runner.ts';
import type { DueWork } from './claim-runner.ts';

const SLOTS = 10;
const CLAIMED_TOGETHER = 3;
/** Two renewals of a lease may fail before it ends. */
const RENEW_MS = 10_000;
/** When a batch is tried again on which the work has failed: what it needs is away. */
const RETURN_AFTER_FAILURE_MS = 3_000;

/** What the work on batches needs, of an api. */
export function createBatchContext(http: HttpContext, installationId: string): BatchContext {
  return {
    ...http,
    installationId,
    endpoints: createLineEndpoints(http),
    paces: createPaces(),
    lineBodies: createLineBodies(http),
    nextTurn: () => http.turns.next(),
  };
}

export function startBatchRunner(context: BatchContext): DueWork {
  const { database, logger } = context;
  const stopping = new AbortController();
  // Each step adds a listener.
  setMaxListeners(0, stopping.signal);
  const working = new Set<string>();

  const work = async (id: string): Promise<void> => {
    working.add(id);
    try {
      const result = await advanceBatch(context, id, stopping.signal);
      if (result.kind === 'waits') await postponeBatch(database, id, result.ms);
    } catch (error) {
      await postponeBatch(database, id, stopping.signal.aborted ? 0 : RETURN_AFTER_FAILURE_MS);
      throw error;
    } finally {
      working.delete(id);
    }
  };
  const renewal = setInterval(() => {
    void renewBatchLeases(database, [...working]).catch((error: unknown) =>
      logger.warn({ err: error }, 'renewing the leases of batches failed; two processes may work on one'),
    );
  }, RENEW_MS);
  const runner = startClaimRunner({
    what: 'batches',
    slots: SLOTS,
    claimedTogether: CLAIMED_TOGETHER,
    claim: (without, limit) => claimDueBatches(database, without, limit),
    work: ({ id }) => work(id),
    logger,
  });
  return {
    wake: () => runner.wake(),
    async close() {
      stopping.abort(new WorkerStoppingError());
      await runner.close(0, () => {});
      clearInterval(renewal);
    },
  };
}
