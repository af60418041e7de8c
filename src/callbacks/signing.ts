/**
 * The signatures of a callback and the secrets that make them. A callback is signed in two forms over the same raw body
 * (contract §6): our own headers, and those of Standard Webhooks, which existing libraries verify. The key of both is
 * the secret's UTF-8 bytes.
 *
 * While a secret is being rotated, both secrets sign. `webhook-signature` is a list by its specification and carries
 * both signatures, the current one first. Our own header keeps a single value, the current secret's, because receivers
 * compare it as a whole; the previous secret's is in `<prefix>-Signature-Previous`. So a receiver that knows either
 * secret can verify, and one that accepts both never notices the rotation.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookKeys } from '../accounts/webhook-key.ts';
import { readDatabaseTime } from '../database/database-clock.ts';
import type { Queryable } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';

/** A callback to sign, and the secrets to sign it with. */
export interface CallbackToSign {
  readonly taskId: TaskId;
  /** The time of this attempt, in whole Unix seconds. */
  readonly timestampSeconds: number;
  /** Exactly the body that is sent. */
  readonly body: string;
  /** The current one first; during rotation the previous one after it; none if the account has no key. */
  readonly secrets: readonly string[];
  /** `X-Darkroom` unless configured otherwise. */
  readonly headerPrefix: string;
}

/** 32 bytes are 43 characters of base64url: contract §6. */
const SECRET_BYTES = 32;

/**
 * The signature headers of one attempt; none if there is no secret.
 *
 * @see contract §6
 */
export function signCallback(callback: CallbackToSign): Record<string, string> {
  const { taskId, timestampSeconds, body, secrets, headerPrefix } = callback;
  const [current, previous] = secrets;
  if (current === undefined) return {};

  const messageId = `msg_${taskId}`;
  return {
    [`${headerPrefix}-Timestamp`]: String(timestampSeconds),
    [`${headerPrefix}-Signature`]: ownSignature(current, timestampSeconds, body),
    ...(previous === undefined
      ? {}
      : { [`${headerPrefix}-Signature-Previous`]: ownSignature(previous, timestampSeconds, body) }),
    'webhook-id': messageId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': secrets
      .slice(0, 2)
      .map((secret) => standardSignature(secretBytes(secret), messageId, timestampSeconds, body))
      .join(' '),
  };
}

/**
 * One entry of `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.
 *
 * @see https://www.standardwebhooks.com
 */
export function standardSignature(key: Uint8Array, messageId: string, timestampSeconds: number, body: string): string {
  const digest = createHmac('sha256', key).update(`${messageId}.${timestampSeconds}.${body}`, 'utf8').digest('base64');
  return `v1,${digest}`;
}

/** The format of a secret that Standard Webhooks libraries accept: `whsec_` and the base64 of the same key. */
export function toWhsec(secret: string): string {
  return `whsec_${secretBytes(secret).toString('base64')}`;
}

/** A new secret: 43 characters of base64url, 256 random bits. */
export function newWebhookSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function ownSignature(secret: string, timestampSeconds: number, body: string): string {
  return createHmac('sha256', secretBytes(secret)).update(`${timestampSeconds}.${body}`, 'utf8').digest('hex');
}

function secretBytes(secret: string): Buffer {
  return Buffer.from(secret, 'utf8');
}

/** A signing secret in both formats, as the responses about the webhook secret show it. */
interface FirstSigningSecret {
  readonly secret: string;
  readonly whsec: string;
}

/**
 * The signing secret that an account starts with (contract §6): created with the account and in its transaction, so
 * that the first callback is already signed and no receiver is built without verification.
 *
 * @param accountId an account that has no signing secret yet.
 */
export async function createFirstSigningSecret(
  transaction: Queryable,
  webhookKeys: Pick<WebhookKeys, 'replace'>,
  accountId: string,
): Promise<FirstSigningSecret> {
  const secret = newWebhookSecret();
  await webhookKeys.replace(transaction, accountId, secret, await readDatabaseTime(transaction));
  return { secret, whsec: toWhsec(secret) };
}
