/**
 * One attempt of a callback (contract §6): written down, sent, and its outcome written down. Which attempt it is stands
 * in PostgreSQL, so that an attempt whose worker died is used up.
 */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import { beginAttempt, finishAttempt, markExhausted } from '../src/callbacks/attempts.ts';
import type { AttemptResult, CallbackState, PendingCallback } from '../src/callbacks/attempts.ts';
import { signCallback } from '../src/callbacks/signing.ts';
import { MAX_CALLBACK_RETRY_AFTER_MS, nextCallbackDelayMs } from '../src/domain/callback-schedule.ts';
import { parseRetryAfterMs } from '../src/domain/retry-after.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { EgressError } from '../src/egress/egress-error.ts';
import { readTask } from '../src/tasks/read.ts';
import type { TaskDetail } from '../src/tasks/read.ts';
import { addEvent, lockTask } from '../src/tasks/timeline.ts';
import { presentTask } from '../src/wire/task.ts';
import type { Activities, DeliverCallbackInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { keepAnswer } from './keep-answer.ts';

/** Spec §6.2: the receiver answers within 10 s. */
const EXCHANGE_TIMEOUT_MS = 10_000;
/** Contract §6: "We read at most 64 kB of the reply". */
const MAX_REPLY_BYTES = 64 * 1024;
/** The receiver says that it wants no more (contract §6). */
const HTTP_GONE = 410;
/** With the exchange well within the activity's own time (workflows/activity-options.ts). */
const RECORD_WITHIN_MS = 5_000;

/** An attempt that is counted, with all that sending it needs. */
interface BegunAttempt extends PendingCallback {
  /** As it stands at this attempt. */
  readonly task: TaskDetail;
  readonly secrets: readonly string[];
}

interface Exchange extends AttemptResult {
  readonly retryAfterMs?: number;
}

export function createSendCallback(context: ActivityContext): Activities['sendCallback'] {
  const { offsetsSeconds } = context.config.callbacks;
  return async ({ taskId }: DeliverCallbackInput) => {
    const begun = await begin(context, taskId, offsetsSeconds.length);
    if (begun === undefined) return { state: 'nothing_to_send' };
    const { attempt, scheduled } = begun;
    const exchange = await send(context, begun);
    context.logger.info({ taskId, attempt, ...exchange }, 'a callback was attempted');

    const status = exchange.httpStatus ?? 0;
    if (status >= 200 && status < 300) {
      await record(context, taskId, attempt, exchange, 'delivered');
      return { state: 'delivered' };
    }
    if (status === HTTP_GONE) {
      await record(context, taskId, attempt, exchange, 'stopped');
      return { state: 'stopped' };
    }
    const delayMs = nextCallbackDelayMs(scheduled, offsetsSeconds, exchange.retryAfterMs);
    await record(context, taskId, attempt, exchange, delayMs === undefined ? 'exhausted' : 'pending', delayMs);
    if (delayMs === undefined) throw ApplicationFailure.nonRetryable('the schedule is used up', 'CallbackExhausted');
    throw ApplicationFailure.create({
      message: `attempt ${attempt} failed: ${exchange.errorClass ?? `status ${status}`}`,
      type: 'CallbackAttemptFailed',
      nonRetryable: false,
      nextRetryDelay: delayMs,
    });
  };
}

/** Counts the attempt together with reading what it sends: where that fails, none is used up. */
async function begin(context: ActivityContext, taskId: TaskId, maxAttempts: number): Promise<BegunAttempt | undefined> {
  return context.database.transaction(async (transaction) => {
    const pending = await beginAttempt(transaction, taskId, maxAttempts);
    if (pending === undefined) {
      await markExhausted(transaction, taskId, maxAttempts);
      return undefined;
    }
    const task = await readTask(transaction, taskId);
    const secrets = await context.webhookKeys.activeSecrets(transaction, pending.accountId, context.now());
    return { ...pending, task, secrets };
  });
}

async function send(context: ActivityContext, { task, url, secrets }: BegunAttempt): Promise<Exchange> {
  const body = JSON.stringify(presentTask(task, context.urlSigner, context.now()));
  const headers = signCallback({
    taskId: task.id,
    timestampSeconds: Math.floor(context.now() / 1000),
    body,
    secrets,
    headerPrefix: context.config.callbacks.headerPrefix,
  });
  try {
    const reply = await context.egress.post(url, {
      headers: { 'content-type': 'application/json', ...headers },
      body,
      timeoutMs: EXCHANGE_TIMEOUT_MS,
      maxResponseBytes: MAX_REPLY_BYTES,
      signal: Context.current().cancellationSignal,
    });
    const retryAfterMs = parseRetryAfterMs(reply.headers['retry-after'], context.now(), MAX_CALLBACK_RETRY_AFTER_MS);
    return { httpStatus: reply.status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    return { errorClass: error.kind === 'tls' || error.kind === 'timeout' ? error.kind : 'unreachable' };
  }
}

/**
 * Writes the outcome down, in the record and in the timeline. What the receiver answered is kept in hand while the
 * database is away: an answer that is lost is a callback sent twice.
 */
async function record(
  context: ActivityContext,
  taskId: TaskId,
  attempt: number,
  { httpStatus, errorClass }: Exchange,
  state: CallbackState,
  nextDelayMs?: number,
): Promise<void> {
  const result = {
    ...(httpStatus === undefined ? {} : { httpStatus }),
    ...(errorClass === undefined ? {} : { errorClass }),
  };
  await keepAnswer(AbortSignal.timeout(RECORD_WITHIN_MS), () =>
    context.database.transaction(async (transaction) => {
      await lockTask(transaction, taskId);
      const durationMs = await finishAttempt(transaction, taskId, attempt, result, state, nextDelayMs);
      // Recorded by a try whose own answer was lost.
      if (durationMs === undefined) return;
      const told = httpStatus === undefined ? { errorClass: errorClass ?? 'unreachable' } : { status: httpStatus };
      await addEvent(transaction, taskId, 'callback_attempted', { attempt, ...told, durationMs });
    }),
  );
}
