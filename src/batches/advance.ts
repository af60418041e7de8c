/**
 * Some seconds of work on a batch. All of its state is in its row, so that any process may continue at any time, and
 * two that work at once do no harm.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchProblem, WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { ObjectNotFoundError, StoreUnavailableError } from '../objects/stores/object-store.ts';
import { readOwner } from '../objects/stores/claimed-store.ts';
import { cancelWaitingBatchCalls } from '../text/background/batch-calls.ts';
import { readBatch } from './batch-record.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';
import { feedLines } from './feed.ts';
import type { Fed } from './feed.ts';
import { finalizeBatch } from './finalize.ts';
import type { BatchEnd } from './finalize.ts';
import { createLineSource } from './input-lines.ts';
import type { LineSource } from './input-lines.ts';
import { settleLines } from './settle-lines.ts';
import { validateBatch } from './validate.ts';

/** How long one call works. */
const STEP_MS = 20_000;
/** The delay before the next step if this one did nothing. */
const POLL_MS = 250;
/** The delay after a step that did something, so that lines that end meanwhile are counted and replaced together. */
const PAUSE_MS = 100;
/** How long an idle batch keeps a slot that no other batch needs. */
const IDLE_MS = 2_000;
/** When an idle batch is resumed. */
const RETURN_MS = 1_000;
/** The same if its lines wait for something that usually takes hours; such a batch leaves its slot at once. */
const RETURN_PATIENTLY_MS = 15_000;
const PATIENT: ReadonlySet<WaitReason> = new Set(['account', 'daily_spend_cap']);

/** `waits`: the batch has not ended; it is resumed after `ms` milliseconds, by any process. */
export type AdvanceResult = { readonly kind: 'ended' } | { readonly kind: 'waits'; readonly ms: number };

const markWaiting: Statement = {
  name: 'mark_batch_waiting',
  text: 'UPDATE batches SET waiting_for = $2 WHERE id = $1 AND ended_at IS NULL',
};
const markFinalizing: Statement = {
  name: 'mark_batch_finalizing',
  text: `UPDATE batches SET status = 'finalizing', finalizing_at = now(), waiting_for = NULL
          WHERE id = $1 AND status = 'in_progress'`,
};
const cancelUnread: Statement = {
  name: 'cancel_unread_batch',
  text: `UPDATE batches SET status = 'cancelled', ended_at = now() WHERE id = $1 AND status = 'cancelling'`,
};

/**
 * @param isCrowded whether other batches could use the slot of this one: it leaves the slot then as soon as there is
 *   nothing to do.
 * @throws {BatchNotFoundError} the database has lost it.
 */
export async function advanceBatch(
  context: BatchContext,
  batchId: string,
  signal: AbortSignal,
  isCrowded: () => boolean = () => false,
): Promise<AdvanceResult> {
  const batch = await readBatch(context.database, batchId);
  // The input file of a batch never changes, so one source serves every step.
  const source = createLineSource(context, batch, signal);
  try {
    return await advanceFor(context, batch, source, { signal, isCrowded });
  } finally {
    await source.close();
  }
}

async function advanceFor(
  context: BatchContext,
  first: Batch,
  source: LineSource,
  { signal, isCrowded }: { readonly signal: AbortSignal; readonly isCrowded: () => boolean },
): Promise<AdvanceResult> {
  const endAt = performance.now() + STEP_MS;
  let workedAt = performance.now();
  for (let batch = first; ; batch = await readBatch(context.database, first.id)) {
    signal.throwIfAborted();
    if (batch.endedAt !== null) {
      context.paces.delete(batch.id);
      const { id: batchId, status, linesTotal, linesCompleted, linesFailed } = batch;
      context.logger.info({ batchId, status, linesTotal, linesCompleted, linesFailed }, 'batch ended');
      return { kind: 'ended' };
    }
    const hasWorked = await step(context, batch, source, signal).catch((error: unknown) =>
      noteAway(context, batch, error),
    );
    await sleep(hasWorked ? PAUSE_MS : POLL_MS, undefined, { signal });
    const now = performance.now();
    if (hasWorked) workedAt = now;
    const isPatient = batch.waitingFor !== null && PATIENT.has(batch.waitingFor);
    if (!hasWorked && now - workedAt >= (isPatient || isCrowded() ? 0 : IDLE_MS)) {
      return { kind: 'waits', ms: isPatient ? RETURN_PATIENTLY_MS : RETURN_MS };
    }
    if (now >= endAt) return { kind: 'waits', ms: 0 };
  }
}

/** Says what a batch waits for that cannot be read or written now. @throws the error, with which it is tried again. */
async function noteAway({ database }: BatchContext, { id, waitingFor }: Batch, error: unknown): Promise<never> {
  if (error instanceof StoreUnavailableError && waitingFor !== 'service') {
    await database.query(markWaiting, [id, error.waitsFor]);
  }
  throw error;
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
  const { open, batch: current, waitingFor } = await settleLines(context, batch);
  const hasSettled = current.linesSettled > batch.linesSettled;
  if (current.status !== 'in_progress') return hasSettled;
  let fed: Fed = { lines: 0, waitingFor: undefined };
  const isLost = isFed
    ? false
    : await untilLost(context, batch, async () => {
        fed = await feedLines(context, current, { open, source, signal });
      });
  const reason = fed.waitingFor ?? waitingFor ?? null;
  if (reason !== current.waitingFor) await database.query(markWaiting, [batch.id, reason]);
  return isLost || fed.lines > 0 || hasSettled;
}

/** @param work reads the input. @returns whether that is lost: then the batch is to end. */
async function untilLost(context: BatchContext, batch: Batch, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    if (!(await isInputLost(context, error))) throw error;
    context.logger.error({ err: error, batchId: batch.id }, 'the input file of a batch is no longer in the store');
    await markInputLost(context.database, batch);
    return true;
  }
}

async function finish(context: BatchContext, batch: Batch, status: BatchEnd, signal: AbortSignal): Promise<boolean> {
  const end = batch.problems === null ? status : 'failed';
  await untilLost(context, batch, () => finalizeBatch(context, batch, end, signal));
  return true;
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

const markLost: Statement = {
  name: 'mark_input_of_batch_lost',
  text: 'UPDATE batches SET problems = $2 WHERE id = $1 AND problems IS NULL AND ended_at IS NULL',
};

/**
 * Whether an error means that the input file has vanished from the store. A store without the mark of this installation
 * is not the one that had the file.
 */
async function isInputLost(
  { store, installationId }: Pick<BatchContext, 'store' | 'installationId'>,
  error: unknown,
): Promise<boolean> {
  return error instanceof ObjectNotFoundError && (await readOwner(store)) === installationId;
}

/** Its lines in progress end, and then the batch fails with the results that there are. */
async function markInputLost(database: Queryable, { id }: Batch): Promise<void> {
  const problem: BatchProblem = {
    code: 'input_file_lost',
    message:
      'the input file is no longer in the store; in the files with the results, custom_id is null, and id ends with the number of the line',
    param: null,
    line: null,
  };
  await database.query(markLost, [id, JSON.stringify([problem])]);
}
