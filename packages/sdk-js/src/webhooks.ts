/**
 * Verifies that a delivery is from Darkroom (contract §6.2), by the headers of Standard Webhooks, whose names no setting
 * changes. WebCrypto does it everywhere: in Node, in browsers and in workers.
 */
import { WebhookVerificationError } from './errors.ts';
import type { Task } from './generated/types.ts';

/** A delivery as a server framework has it. */
export interface Delivery {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Exactly as received: parsing and serializing it again would change it. */
  readonly body: string | ArrayBuffer | Uint8Array<ArrayBuffer>;
}

export interface VerifyOptions {
  /** By how much the delivery may be older or newer than this clock, in seconds. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
}

/** The default of libraries of Standard Webhooks. */
const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

/**
 * Verifies the signature and the time of a delivery.
 *
 * @param secret the signing secret, in either of the forms that `GET /account/webhook-key` returns.
 * @returns the task that it reports. It may arrive more than once.
 * @throws {WebhookVerificationError} respond with 401, and do nothing else.
 */
async function verify(delivery: Request | Delivery, secret: string, options: VerifyOptions = {}): Promise<Task> {
  if (typeof secret !== 'string' || secret === '') throw new TypeError('the signing secret is missing');
  const body = await bodyOf(delivery);
  const id = headerOf(delivery.headers, 'webhook-id');
  const timestamp = headerOf(delivery.headers, 'webhook-timestamp');
  const signatures = headerOf(delivery.headers, 'webhook-signature').split(' ');
  requireRecent(timestamp, options.toleranceSeconds ?? TOLERANCE_SECONDS);
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  if (!(await isSigned(signed, signatures, secret))) {
    throw new WebhookVerificationError('the signature is not one of this secret');
  }
  return JSON.parse(new TextDecoder().decode(body)) as Task;
}

export interface Webhooks {
  readonly verify: typeof verify;
}

export const webhooks: Webhooks = { verify };

async function bodyOf(delivery: Request | Delivery): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof Request !== 'undefined' && delivery instanceof Request)
    return new Uint8Array(await delivery.arrayBuffer());
  const { body } = delivery as Delivery;
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError('body is not the raw body: pass the text or the bytes that were received');
}

function headerOf(headers: Delivery['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : valueOf(headers, name);
  if (value === null || value === '') throw new WebhookVerificationError(`the header ${name} is missing`);
  return value;
}

/** Frameworks differ in the case of names, and in what they make of repeated headers. */
function valueOf(headers: Exclude<Delivery['headers'], Headers>, name: string): string | null {
  for (const [given, value] of Object.entries(headers)) {
    if (given.toLowerCase() !== name || value === undefined) continue;
    return typeof value === 'string' ? value : (value[0] ?? null);
  }
  return null;
}

/** @throws {WebhookVerificationError} a recorded delivery that is sent again later. */
function requireRecent(timestamp: string, toleranceSeconds: number): void {
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (ageSeconds <= toleranceSeconds) return;
  throw new WebhookVerificationError(
    Number.isNaN(ageSeconds)
      ? 'the header webhook-timestamp is not a time'
      : `the delivery was signed ${Math.round(ageSeconds)} s from now; ${toleranceSeconds} s are allowed`,
  );
}

/** While a secret is replaced, a delivery has two signatures. */
async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signatures: readonly string[],
  secret: string,
): Promise<boolean> {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) throw new TypeError('WebCrypto is missing: browsers have it on HTTPS pages and localhost');
  for (const bytes of keysOf(secret)) {
    const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const signature of signatures) {
      const [version, encoded = ''] = signature.split(',', 2);
      const given = version === 'v1' ? fromBase64(encoded) : undefined;
      if (given !== undefined && (await subtle.verify('HMAC', key, given, signed))) return true;
    }
  }
  return false;
}

/** A secret that an account has chosen may begin like the form of Standard Webhooks; it is used as it is, too. */
function keysOf(secret: string): readonly Uint8Array<ArrayBuffer>[] {
  const plain = new TextEncoder().encode(secret);
  const decoded = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : undefined;
  return decoded === undefined || decoded.length === 0 ? [plain] : [decoded, plain];
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
