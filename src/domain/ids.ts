/**
 * Identifiers and how they are generated. The task id is the workflow id is the idempotency key
 * (architecture, "The workflow ID is the idempotency key"): it is derived from the caller's key if there is one, so
 * that anything that happens twice collapses to one. Uses node:crypto, so workflows import only the types and
 * `callbackWorkflowId` from `workflow-ids.ts`.
 */
import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';
import type { TaskId } from './workflow-ids.ts';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** How the ids of batches begin that were created with an Idempotency-Key. */
export const KEYED_BATCH_PREFIX = 'batch_Z';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Random bytes are read from the system in blocks of this size. Reading them one by one took a fifteenth of the time of
 * a request.
 */
const POOL_BYTES = 1_024;
const pool = Buffer.alloc(POOL_BYTES);
let poolPosition = POOL_BYTES;

/** A number from 0 to below 1 with 8 random bits: `ulid` needs 5. */
function randomByteFraction(): number {
  if (poolPosition === POOL_BYTES) {
    randomFillSync(pool);
    poolPosition = 0;
  }
  const byte = pool.readUInt8(poolPosition);
  poolPosition += 1;
  return byte / 256;
}

function newUlid(): string {
  return ulid(undefined, randomByteFraction);
}

/** Twenty-six characters of Crockford base32 over the first 130 bits of a hash. */
function crockford26(hash: Buffer): string {
  let bits = BigInt(`0x${hash.subarray(0, 17).toString('hex')}`) >> 6n;
  let text = '';
  for (let index = 0; index < 26; index++) {
    text = CROCKFORD.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}

/**
 * The id of the task that an Idempotency-Key names: the same for the same installation, account and key, for ever.
 *
 * @see contract §2 `tk-svc-<26 characters, Crockford base32>`; architecture, "The workflow ID is the idempotency key"
 */
export function taskIdForKey(installationId: string, accountId: string, idempotencyKey: string): TaskId {
  const hash = createHash('sha256')
    .update(JSON.stringify(['darkroom-task-v1', installationId, accountId, idempotencyKey]))
    .digest();
  return `tk-svc-${crockford26(hash)}`;
}

/** The id of a task created without a key: unique, and sortable by time. */
export function newTaskId(): TaskId {
  return `tk-svc-${newUlid()}`;
}

/** A random identifier with a prefix that says what it names: `acc_`, `out_`, `req_`. */
export function newId(
  prefix: 'acc' | 'out' | 'req' | 'inst' | 'topup' | 'adjustment' | 'file' | 'upload' | 'part' | 'batch',
): string {
  return `${prefix}_${newUlid()}`;
}

/**
 * The id of the batch that an Idempotency-Key names: the same for the same installation, account and key, for ever. It
 * begins with a letter with which no ULID begins, by which the retention recognises it.
 */
export function batchIdForKey(installationId: string, accountId: string, idempotencyKey: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['darkroom-batch-v1', installationId, accountId, idempotencyKey]))
    .digest();
  return `${KEYED_BATCH_PREFIX}${crockford26(hash).slice(1)}`;
}

/** The id of a text model's response: it names the call in the ledger too (contract §7, §9). */
export function newTextCallId(surface: 'chat' | 'responses'): string {
  return `${surface === 'chat' ? 'chatcmpl-' : 'resp_'}${newUlid()}`;
}

/** The id of the response in the background that an Idempotency-Key names, as `taskIdForKey` has it for tasks. */
export function responseIdForKey(installationId: string, accountId: string, idempotencyKey: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['darkroom-response-v1', installationId, accountId, idempotencyKey]))
    .digest();
  return `resp_${crockford26(hash)}`;
}

/** The id of the text call that a line of a batch is: the same for the same line, for ever. */
export function textCallIdForLine(
  surface: 'chat' | 'responses',
  installationId: string,
  accountId: string,
  lineKey: string,
): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['darkroom-text-v1', installationId, accountId, lineKey]))
    .digest();
  return `${surface === 'chat' ? 'chatcmpl-' : 'resp_'}${crockford26(hash)}`;
}

/** `length` characters of base62 with no modulo bias, from the system's randomness. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 below 256: bytes above it would favour the first letters.
      if (byte < 248 && text.length < length) text += BASE62.charAt(byte % 62);
    }
  }
  return text;
}

/** A non-negative integer in base62, padded on the left to `length` characters. */
export function base62(value: number, length: number): string {
  let text = '';
  let rest = value;
  while (rest > 0) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text.padStart(length, '0');
}
