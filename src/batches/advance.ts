/**
 * Some seconds of work on a batch. All of its state is in its row, so that any process may continue at any time, and
 * two that work at once do no harm.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Statement } from '../database/database.ts';
import { cancelWaitingBatchCalls } from '../text/background/batch-calls.ts';
import { BATCH_COLUMNS, BatchNotFoundError, readBatch } from './batch-record.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';
import { feedLines } from './feed.ts';
import { finalizeBatch } from './finalize.ts';
import type { BatchEnd } from './finalize.ts';
import { createLineSource } from './line-source.ts';
import type { LineSource } from './line-source.ts';
import { isInputLost, markInputLost } from './lost-input.ts';
import { settleLines } from './settle-lines.ts';
import { validateBatch } from './validate.ts';

/** How long one call works. */
const STEP_MS = 20_000;
/** How long it waits where there is nothing to feed, */
const POLL_MS = 250;
/** and where there was: the lines that end meanwhile are counted, and replaced, together. */
const PAUSE_MS = 100;

const markAdvanced: Statement = {
  name: 'mark_batch_advanced',
  text: `UPDATE batches SET advanced_at = now() WHERE id = $1 RETURNING ${BATCH_COLUMNS}`,
};
const markFinalizing: Statement = {
  name: 'mark_batch_finalizing',
  text: `UPDATE batches SET status = 'finalizing', finalizing_at = now() WHERE id = $1 AND status = 'in_progress'`,
};
const cancelUnread: Statement = {
  name: 'cancel_unread_batch',
  text: `UPDATE batches SET status = 'cancelled', ended_at = now() WHERE id = $1 AND status = 'cancelling'`,
};

/** @returns whether the batch has ended. @throws {BatchNotFoundError} */
export async function advanceBatch(context: BatchContext, batchId: string, signal: AbortSignal): Promise<boolean> {
  const [batch] = await context.database.query<Batch>(markAdvanced, [batchId]);
  if (batch === undefined) throw new BatchNotFoundError();
  // What a batch is read from never changes.
  const source = createLineSource(context.store, batch);
  try {
    return await advanceFor(context, batch, source, signal);
  } finally {
    await source.close();
  }
}

async function advanceFor(
  context: BatchContext,
  first: Batch,
  source: LineSource,
  signal: AbortSignal,
): Promise<boolean> {
  const endAt = performance.now() + STEP_MS;
  for (let batch = first; ; batch = await readBatch(context.database, first.id)) {
    signal.throwIfAborted();
    if (batch.endedAt !== null) {
      context.paces.delete(batch.id);
      const { id: batchId, status, linesTotal, linesCompleted, linesFailed } = batch;
      context.logger.info({ batchId, status, linesTotal, linesCompleted, linesFailed }, 'batch ended');
      return true;
    }
    const hasWorked = await step(context, batch, source, signal);
    await sleep(hasWorked ? PAUSE_MS : POLL_MS, undefined, { signal });
    if (performance.now() >= endAt) return false;
  }
}

/** @returns whether more can be done at once. */
async function step(context: BatchContext, batch: Batch, source: LineSource, signal: AbortSignal): Promise<boolean> {
  switch (batch.status) {
    case 'validating':
      await validateBatch(context, batch, signal);
      return true;
    case 'in_progress':
      if (batch.problems !== null) return drain(context, batch, 'failed', signal);
      return progress(context, batch, source, signal);
    case 'cancelling':
      if (batch.inProgressAt !== null) return drain(context, batch, 'cancelled', signal);
      await context.database.query(cancelUnread, [batch.id]);
      return true;
    case 'finalizing':
      return finish(context, batch, 'completed', signal);
    case 'completed':
    case 'failed':
    case 'expired':
    case 'cancelled':
      return true;
  }
}

async function progress(
  context: BatchContext,
  batch: Batch,
  source: LineSource,
  signal: AbortSignal,
): Promise<boolean> {
  const { database, clock } = context;
  if (batch.linesSettled === batch.linesTotal) {
    await database.query(markFinalizing, [batch.id]);
    return true;
  }
  const isFed = batch.linesFed === batch.linesTotal;
  if (!isFed && (await clock.read()) >= batch.expiresAt * 1000) return drain(context, batch, 'expired', signal);
  // Counted first. Where the row has changed meanwhile, feeding finds that out when it locks it.
  const { open, batch: current } = await settleLines(context, batch);
  const hasSettled = current.linesSettled > batch.linesSettled;
  if (isFed || current.status !== 'in_progress') return hasSettled;
  const isAnyFed = await untilLost(context, batch, () => feedLines(context, current, { open, source }));
  return isAnyFed || hasSettled;
}

/** @param work reads the input. @returns true if that is lost: then the batch is to end. */
async function untilLost(context: BatchContext, batch: Batch, work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    if (!(await isInputLost(context, error))) throw error;
    context.logger.error({ err: error, batchId: batch.id }, 'the input file of a batch is no longer in the store');
    await markInputLost(context.database, batch);
    return true;
  }
}

function finish(context: BatchContext, batch: Batch, status: BatchEnd, signal: AbortSignal): Promise<boolean> {
  return untilLost(context, batch, async () => {
    await finalizeBatch(context, batch, batch.problems === null ? status : 'failed', signal);
    return true;
  });
}

/** Nothing more is fed: what is in progress ends, and then the batch. */
async function drain(context: BatchContext, batch: Batch, status: BatchEnd, signal: AbortSignal): Promise<boolean> {
  if (batch.linesSettled < batch.linesFed) {
    if (context.endpoints[batch.endpoint].kind === 'text') await cancelWaitingBatchCalls(context.database, batch.id);
    const { batch: current } = await settleLines(context, batch);
    return current.linesSettled > batch.linesSettled;
  }
  return finish(context, batch, status, signal);
}
