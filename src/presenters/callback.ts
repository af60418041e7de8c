/**
 * Callbacks as their account sees them (contract §4, §6, §7): the delivery of each, the secret that signs them, and
 * test deliveries.
 */
import type { AccountAttemptSchema } from '@darkroom/api/tasks/account-callbacks';
import type { AttemptSchema, CallbackAttemptsSchema } from '@darkroom/api/tasks/callback';
import type { TestDeliveryResultSchema, WireWebhookKey } from '@darkroom/api/tasks/webhook-key';
import type { Static } from 'typebox';
import type { WebhookKey } from '../accounts/webhook-key.ts';
import type { CallbackRecord, RecordedAttempt, ListedAttempt } from '../callbacks/attempts.ts';
import { originOf } from '../callbacks/attempts.ts';
import { toWhsec } from '../callbacks/signing.ts';
import type { TestDelivery } from '../callbacks/test-delivery.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import { secondsOf } from './unix-seconds.ts';

/**
 * The callback of a task: its receiver, the state of its delivery, and each attempt.
 *
 * @param callback undefined: the task has none.
 */
export function presentCallback(callback: CallbackRecord | undefined): Static<typeof CallbackAttemptsSchema> {
  if (callback === undefined) return { state: 'none', attempts: [] };
  const { url, state, attempts } = callback;
  return {
    ...(url === '' ? {} : { url }),
    state,
    attempts: attempts.map(presentAttempt),
  };
}

function presentAttempt(recorded: RecordedAttempt): Static<typeof AttemptSchema> {
  const { attempt, at, durationMs, httpStatus, errorClass } = recorded;
  return { attempt, at, durationMs, status: httpStatus, errorClass };
}

/** One of the attempts of all of an account's callbacks (contract §4.4). */
export function presentListedAttempt(listed: ListedAttempt): Static<typeof AccountAttemptSchema> {
  const { taskId, url, state } = listed;
  const origin = originOf(url);
  return {
    taskId,
    ...(url === '' ? {} : { url }),
    ...(origin === undefined ? {} : { origin }),
    state,
    ...presentAttempt(listed),
  };
}

export function presentWebhookKey(key: WebhookKey | undefined): WireWebhookKey {
  if (key === undefined) return { hasKey: false };
  return {
    hasKey: true,
    secret: key.secret,
    whsec: toWhsec(key.secret),
    created: secondsOf(key.createdAt),
    previousExpires: secondsOf(key.previousExpiresAt),
  };
}

export function presentTestDelivery(delivery: TestDelivery): Static<typeof TestDeliveryResultSchema> {
  return {
    delivered: delivery.isDelivered,
    status: delivery.httpStatus ?? 0,
    durationMs: delivery.durationMs,
    ...(delivery.errorClass === undefined ? {} : { errorClass: delivery.errorClass }),
    signed: delivery.isSigned,
  };
}

/**
 * A task that never existed, for testing a receiver: everything in it has the form of a real one. Its metadata says
 * what it is, and its output's URL leads to nothing.
 *
 * @param now milliseconds since 1970.
 */
export function exampleTask(taskId: TaskId, caller: { accountId: string; keyId: string }, now: number): TaskDetail {
  const seconds = Math.floor(now / 1000);
  return {
    id: taskId,
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: 'example/image',
    route: null,
    status: 'success',
    storage: 'temp',
    metadata: { test: 'true' },
    heldMicroUsd: 42_000n,
    capturedMicroUsd: 42_000n,
    priceFactor: null,
    errorReason: null,
    errorField: null,
    errorCase: null,
    createdAt: seconds - 10,
    startedAt: seconds - 9,
    progress: null,
    completedAt: seconds,
    definitionHash: '',
    idleSeconds: 0,
    ageSeconds: 10,
    outputs: [
      {
        id: `out_${taskId.slice('tk-svc-'.length)}`,
        position: 0,
        type: 'image',
        mimeType: 'image/png',
        sizeBytes: 1,
        width: 1,
        height: 1,
        durationSeconds: null,
        sha256: '0'.repeat(64),
        storageTier: 'temp',
        retainUntil: seconds + 7 * 86_400,
        goneAt: null,
        goneReason: null,
      },
    ],
    callback: { state: 'pending', attempts: 1, nextAttemptAt: null },
  };
}
