/**
 * One attempt of a callback (contract §6): recorded, sent, and its outcome recorded. The number of the attempt is
 * stored in PostgreSQL, so that an attempt whose worker died counts as used.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { isReduced, listFailingReceivers } from '../src/accounts/callback-receivers.ts';
import { WrongEncryptionKeyError } from '../src/accounts/secret-cipher.ts';
import {
  accountOfCallback,
  beginAttempt,
  findDelayMs,
  markExhausted,
  postponeAttempt,
  withdrawAttempt,
} from '../src/callbacks/attempts.ts';
import type { AttemptResult, PendingCallback } from '../src/callbacks/attempts.ts';
import { createDeliverySlots } from '../src/callbacks/delivery-slots.ts';
import { signCallback } from '../src/callbacks/signing.ts';
import { recordFailingItem } from '../src/database/failing-items.ts';
import { MAX_CALLBACK_RETRY_AFTER_MS, nextCallbackDelayMs, nextKeyAttemptMs } from '../src/domain/callback-schedule.ts';
import { parseRetryAfterMs } from '../src/domain/waits.ts';
import type { TaskId } from '../src/domain/workflow-ids.ts';
import { EgressError } from '../src/egress/egress-error.ts';
import { presentTask } from '../src/presenters/task.ts';
import { RECORD_RETRY_MS, RECORD_WITHIN_MS, recordInTime } from '../src/tasks/lifecycle/callback.ts';
import type { AttemptOutcome } from '../src/tasks/lifecycle/callback.ts';
import { readTask } from '../src/tasks/record/read.ts';
import type { TaskDetail } from '../src/tasks/record/read.ts';
import type { Activities, DeliverCallbackInput, DeliveryResult } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';

/** The time limit of the exchange. Spec §6.2: the receiver responds within 10 s. */
const EXCHANGE_TIMEOUT_MS = 10_000;
/**
 * The maximum number of bytes that are read of the receiver's response. Contract §6: "We read at most 64 kB of the
 * reply".
 */
const MAX_REPLY_BYTES = 64 * 1024;
/** The receiver does not want any more callbacks (contract §6). */
const HTTP_GONE = 410;
/**
 * What must be left of the activity's time (workflows/activity-options.ts) when it ends, so that Temporal receives the
 * outcome.
 */
const LEFT_TO_REPORT_MS = 1_000;
/**
 * The minimum remaining time at which an attempt is counted, in milliseconds. When the attempt's time has passed,
 * Temporal begins the next one.
 */
const LEFT_TO_BEGIN_MS = EXCHANGE_TIMEOUT_MS + RECORD_WITHIN_MS;
/** The same when it is sent, with a margin for the commit. */
const LEFT_TO_SEND_MS = EXCHANGE_TIMEOUT_MS + 2_000;

/** A counted attempt, with everything needed to send it. */
interface BegunAttempt extends PendingCallback {
  /** The task as it is at this attempt. */
  readonly task: TaskDetail;
  readonly secrets: readonly string[];
  /** The origin of the receiver's URL. */
  readonly origin: string;
  /** Whether this attempt is the last, because all deliveries to this receiver have failed for days. */
  readonly hasOneAttempt: boolean;
}

interface Exchange extends AttemptResult {
  readonly retryAfterMs?: number;
}

/** @param steadyClock milliseconds since an arbitrary moment; never adjusted. */
export function createSendCallback(
  context: ActivityContext,
  steadyClock = () => performance.now(),
): Activities['sendCallback'] {
  const { offsetsSeconds } = context.config.callbacks;
  const slots = createDeliverySlots({ metrics: context.metrics.shares });
  return async ({ taskId }: DeliverCallbackInput) => {
    // Not measured from when it was scheduled: that is another machine's clock, and includes the wait for a worker.
    const endsAt = steadyClock() + Context.current().info.startToCloseTimeoutMs;
    const accountId = await accountOfCallback(context.database, taskId);
    if (accountId === undefined) return { state: 'nothing_to_send' };
    const slot = slots.take(accountId);
    if ('delayMs' in slot) {
      await postponeAttempt(context.database, taskId, slot.delayMs);
      throw comeAgain('CallbackPostponed', 'other deliveries of this account come first', slot.delayMs);
    }
    try {
      return await attemptOnce(taskId, () => endsAt - steadyClock());
    } finally {
      slot.release();
    }
  };

  /**
   * A signing secret that cannot be decrypted concerns only its account: its deliveries are retried, and operators see
   * it. The next attempt is recorded, as after one that was made: otherwise the repair would consider the delivery
   * lost.
   */
  async function beginOrPostpone(taskId: TaskId, leftMs: () => number): Promise<BegunAttempt | undefined> {
    try {
      return await begin(context, taskId, offsetsSeconds.length, leftMs);
    } catch (error) {
      if (!(error instanceof WrongEncryptionKeyError)) throw error;
      const { database, metrics } = context;
      const accountId = (await accountOfCallback(database, taskId)) ?? taskId;
      await recordFailingItem({ database, metrics: metrics.passes }, 'webhook_key', accountId, error);
      const delayMs = nextKeyAttemptMs(Context.current().info.attempt);
      await postponeAttempt(database, taskId, delayMs);
      throw comeAgain(error.name, 'the signing secret cannot be decrypted', delayMs);
    }
  }

  /** @throws {ApplicationFailure} unless it was delivered, or nothing has to be sent any more. */
  async function attemptOnce(taskId: TaskId, leftMs: () => number): Promise<DeliveryResult> {
    const begun = await beginOrPostpone(taskId, leftMs);
    if (begun === undefined) return { state: 'nothing_to_send' };
    const { attempt, scheduled, hasOneAttempt } = begun;
    if (leftMs() < LEFT_TO_SEND_MS) {
      await withdrawAttempt(context.database, taskId, attempt);
      throw tooLate();
    }
    const startedAt = steadyClock();
    const exchange = await send(context, begun);
    context.metrics.callbacks.attempted(exchange, (steadyClock() - startedAt) / 1000);
    context.logger.info({ taskId, attempt, ...exchange }, 'callback attempted');

    const end = endOf(exchange);
    const offsets = hasOneAttempt ? offsetsSeconds.slice(0, 1) : offsetsSeconds;
    const delayMs = end === undefined ? nextCallbackDelayMs(scheduled, offsets, exchange.retryAfterMs) : undefined;
    const state = end ?? (delayMs === undefined ? 'exhausted' : 'pending');
    const outcome: AttemptOutcome = { result: exchange, state, delayMs, knownAt: steadyClock() };
    const bounds = { withinMs: leftMs() - LEFT_TO_REPORT_MS, steadyClock };
    const isRecorded = await recordInTime(context, begun, outcome, bounds);
    if (delayMs !== undefined) {
      const reason = exchange.errorClass ?? `status ${exchange.httpStatus}`;
      throw comeAgain('CallbackAttemptFailed', `attempt ${attempt} failed: ${reason}`, delayMs);
    }
    if (!isRecorded) throw comeAgain('CallbackNotRecorded', 'the outcome was not recorded in time', RECORD_RETRY_MS);
    if (end === undefined) throw ApplicationFailure.nonRetryable('the schedule is used up', 'CallbackExhausted');
    return { state: end };
  }
}

/** @returns undefined if the delivery is not over. */
function endOf({ httpStatus = 0 }: Exchange): 'delivered' | 'stopped' | undefined {
  if (httpStatus >= 200 && httpStatus < 300) return 'delivered';
  return httpStatus === HTTP_GONE ? 'stopped' : undefined;
}

/**
 * The database took so much of the attempt's time that Temporal would begin the next attempt before this one has ended.
 */
function tooLate(): ApplicationFailure {
  return ApplicationFailure.retryable('too little time was left to send it', 'CallbackTooLate');
}

/** A failure of an attempt that states itself when the next one is due. */
function comeAgain(type: string, message: string, delayMs: number): ApplicationFailure {
  return ApplicationFailure.create({ message, type, nonRetryable: false, nextRetryDelay: delayMs });
}

/**
 * Counts the attempt in the same transaction that reads what it sends: if that fails, or comes too late, no attempt is
 * used up.
 */
async function begin(
  context: ActivityContext,
  taskId: TaskId,
  maxAttempts: number,
  leftMs: () => number,
): Promise<BegunAttempt | undefined> {
  return context.database.transaction(async (transaction) => {
    const pending = await beginAttempt(transaction, taskId, maxAttempts);
    if (pending === undefined) {
      const delayMs = await findDelayMs(transaction, taskId);
      if (delayMs !== undefined) throw comeAgain('CallbackTooEarly', 'it is not due yet', delayMs);
      await markExhausted(transaction, taskId, maxAttempts);
      return undefined;
    }
    const task = await readTask(transaction, taskId);
    const secrets = await context.webhookKeys.activeSecrets(transaction, pending.accountId, context.now());
    const { origin } = new URL(pending.url);
    const [failing] = await listFailingReceivers(transaction, pending.accountId, origin);
    const { oneAttemptAfterDays } = context.config.callbacks;
    const hasOneAttempt = failing !== undefined && isReduced(failing, oneAttemptAfterDays, context.now());
    if (leftMs() < LEFT_TO_BEGIN_MS) throw tooLate();
    return { ...pending, task, secrets, origin, hasOneAttempt };
  });
}

async function send(context: ActivityContext, { task, accountId, url, secrets }: BegunAttempt): Promise<Exchange> {
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
      accountId,
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
