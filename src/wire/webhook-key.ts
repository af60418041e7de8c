/**
 * The webhook signing key as its account sees it (contract §6, §7), and the content and the result of a test
 * delivery.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { WEBHOOK_SECRET_LENGTH } from '../accounts/webhook-key.ts';
import type { WebhookKey } from '../accounts/webhook-key.ts';
import { whsecSpelling } from '../callbacks/signing.ts';
import type { TestDelivery } from '../callbacks/test-delivery.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { TaskDetail } from '../tasks/record/read.ts';
import { UnixSeconds, secondsOf, unixSecondsOrZero } from './fields.ts';

export const SetWebhookKeySchema = Type.Object(
  {
    secret: Type.String({
      minLength: WEBHOOK_SECRET_LENGTH.minimum,
      maxLength: WEBHOOK_SECRET_LENGTH.maximum,
      description: 'Its UTF-8 bytes are the key of the signatures.',
    }),
  },
  { additionalProperties: false },
);

export const WebhookKeySchema = Type.Object(
  {
    hasKey: Type.Boolean({
      description: 'Without one, callbacks carry no signature; the other fields are absent then.',
    }),
    secret: Type.Optional(Type.String({ description: 'Its UTF-8 bytes are the key of the signatures.' })),
    whsec: Type.Optional(Type.String({ description: 'The same key in the spelling of Standard Webhooks libraries.' })),
    created: Type.Optional(UnixSeconds),
    previousExpires: Type.Optional(
      unixSecondsOrZero('no other key signs. Until then the key before this one signs too.'),
    ),
  },
  { additionalProperties: false },
);
export type WireWebhookKey = Static<typeof WebhookKeySchema>;

export const TestDeliverySchema = Type.Object(
  { url: Type.String({ minLength: 1, maxLength: 2048, description: 'As `callback.url` of a task.' }) },
  { additionalProperties: false },
);

export const TestDeliveryResultSchema = Type.Object(
  {
    delivered: Type.Boolean({ description: 'Whether the receiver answered 2xx within 10 s.' }),
    status: Type.Integer({ minimum: 0, maximum: 999, description: 'The HTTP status; 0 where no answer came.' }),
    durationMs: Type.Integer({ minimum: 0 }),
    errorClass: Type.Optional(
      Type.Unsafe<'tls' | 'timeout' | 'unreachable'>({
        type: 'string',
        enum: ['tls', 'timeout', 'unreachable'],
        description: 'Why no answer came. An address that may not be reached is `unreachable`.',
      }),
    ),
    signed: Type.Boolean({ description: 'Whether the account has a key to sign with.' }),
  },
  { additionalProperties: false },
);

export function presentWebhookKey(key: WebhookKey | undefined): WireWebhookKey {
  if (key === undefined) return { hasKey: false };
  return {
    hasKey: true,
    secret: key.secret,
    whsec: whsecSpelling(key.secret),
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
