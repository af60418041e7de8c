/**
 * One attempt of a callback (contract §6): written down, sent, and its outcome written down. Which attempt it is stands
 * in PostgreSQL, so that an attempt whose worker died is used up.
 */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import { beginAttempt, finishAttempt, markExhausted } from '../src/callbacks/attempts.ts';
import type { AttemptResult, PendingCallback } from '../src/callbacks/attempts.ts';
import { signCallback } from '../src/callbacks/signing.ts';
import { nextCallbackDelayMs } from '../src/domain/callback-schedule.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { EgressError } from '../src/egress/egress-error.ts';
import { readTask } from '../src/tasks/read.ts';
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

interface Exchange extends AttemptResult {
  readonly retryAfterMs?: number;
}

export function createSendCallback(context: ActivityContext): Activities['sendCallback'] {
  const { offsetsSeconds } = context.config.callbacks;
  return async ({ taskId }: DeliverCallbackInput) => {
    // Before the attempt is counted: what fails here must not use one up.
    const { accountId } = await readTask(context.database, taskId);
    const secrets = await context.webhookKeys.activeSecrets(context.database, accountId);
    const pending = await beginAttempt(context.database, taskId, offsetsSeconds.length);
    if (pending === undefined) {
      await markExhausted(context.database, taskId);
      return { state: 'nothing_to_send' };
    }
    const exchange = await send(context, taskId, pending, secrets);
    context.logger.info({ taskId, attempt: pending.attempt, ...exchange }, 'a callback was attempted');

    const status = exchange.httpStatus ?? 0;
    if (status >= 200 && status < 300) {
      await finishAttempt(context.database, taskId, pending.attempt, exchange, 'delivered', undefined);
      return { state: 'delivered' };
    }
    if (status === HTTP_GONE) {
      await finishAttempt(context.database, taskId, pending.attempt, exchange, 'stopped', undefined);
      return { state: 'stopped' };
    }
    const delayMs = nextCallbackDelayMs(pending.attempt, offsetsSeconds, exchange.retryAfterMs);
    const state = delayMs === undefined ? 'exhausted' : 'pending';
    await finishAttempt(context.database, taskId, pending.attempt, exchange, state, delayMs);
    if (delayMs === undefined) throw ApplicationFailure.nonRetryable('the schedule is used up', 'CallbackExhausted');
    throw ApplicationFailure.create({
      message: `attempt ${pending.attempt} failed: ${exchange.errorClass ?? `status ${status}`}`,
      type: 'CallbackAttemptFailed',
      nonRetryable: false,
      nextRetryDelay: delayMs,
    });
  };
}

async function send(
  context: ActivityContext,
  taskId: TaskId,
  pending: PendingCallback,
  secrets: readonly string[],
): Promise<Exchange> {
  const signal = Context.current().cancellationSignal;
  const detail = await keepAnswer(signal, () => readTask(context.database, taskId));
  const body = JSON.stringify(presentTask(detail, context.urlSigner, context.now()));
  const headers = signCallback({
    taskId,
    timestampSeconds: Math.floor(Date.now() / 1000),
    body,
    secrets,
    headerPrefix: context.config.callbacks.headerPrefix,
  });
  try {
    const reply = await context.egress.post(pending.url, {
      headers: { 'content-type': 'application/json', ...headers },
      body,
      timeoutMs: EXCHANGE_TIMEOUT_MS,
      maxResponseBytes: MAX_REPLY_BYTES,
      signal,
    });
    const retryAfterMs = parseRetryAfter(reply.headers['retry-after']);
    return { httpStatus: reply.status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    return { errorClass: error.kind === 'tls' || error.kind === 'timeout' ? error.kind : 'unreachable' };
  }
}

/** Seconds or an HTTP date (RFC 9110 §10.2.3). */
function parseRetryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
