/**
 * Verifies that a provider signed a call to its hook. The body is hashed while it arrives and never held: the published
 * libraries need it whole, and some as JSON.
 */
import { createHash, createHmac, timingSafeEqual, verify as verifySignature } from 'node:crypto';
import type { Hmac, KeyObject } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SecretSource } from '../../upstreams/secrets.ts';
import type { Verify } from './hook-rules.ts';
import type { PublicKeys } from './public-keys.ts';

/** "5 minutes": Standard Webhooks and fal. */
const TOLERANCE_SECONDS = 300;
const MAX_SIGNATURES = 20;
const FAL_KEYS = 'https://rest.fal.ai/.well-known/jwks.json';

/** Why a call was not accepted, for the operator. */
export type HookFault =
  /** A header is missing, or has another form. */
  | 'unsigned'
  | 'too_old'
  | 'wrong_signature'
  /** The credential is not configured in this process. */
  | 'no_secret'
  /** The credential is not `whsec_` and base64. */
  | 'malformed_secret'
  /** The provider's public keys cannot be fetched. */
  | 'no_keys';

/** The verification of one call. */
export interface HookVerification {
  /** Takes a piece of the body. */
  update(piece: Uint8Array): void;
  /** Ends it. @returns undefined: the provider signed the call. */
  finish(): Promise<HookFault | undefined>;
}

/** What there is of a call before its body. */
export interface SignedCall {
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** The secrets that the provider may have been given for this task. */
  derivedSecrets(): readonly string[];
}

export interface HookVerifier {
  /** @returns a fault that needs no body. */
  begin(verify: Verify, call: SignedCall): HookVerification | HookFault;
}

export function createHookVerifier({
  secrets,
  keys,
}: {
  readonly secrets: SecretSource;
  readonly keys: PublicKeys;
}): HookVerifier {
  return {
    begin(verify, call) {
      const secret = verify.secret === undefined ? undefined : secrets.get(verify.secret);
      switch (verify.scheme) {
        case 'standard-webhooks':
          return secret === undefined ? 'no_secret' : beginStandard(secret, call);
        case 'hmac-sha256':
          if (verify.secret !== undefined && secret === undefined) return 'no_secret';
          return beginHmac(verify, secret === undefined ? call.derivedSecrets() : [secret], call);
        case 'fal-ed25519':
          return beginFal(verify.jwksUrl ?? FAL_KEYS, keys, call);
      }
    },
  };
}

/** @see https://www.standardwebhooks.com */
function beginStandard(secret: string, { headers, nowMs }: SignedCall): HookVerification | HookFault {
  const key = decoded(secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret, 'base64');
  if (key === undefined) return 'malformed_secret';
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const list = headerOf(headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || list === undefined) return 'unsigned';
  const signatures = list
    .split(' ')
    .slice(0, MAX_SIGNATURES)
    .flatMap((entry) => (entry.startsWith('v1,') ? (decoded(entry.slice('v1,'.length), 'base64') ?? []) : []));
  const fault = findTimeFault(timestamp, nowMs) ?? (signatures.length === 0 ? 'unsigned' : undefined);
  if (fault !== undefined) return fault;
  return hmacs([createHmac('sha256', key).update(`${id}.${timestamp}.`)], signatures);
}

function beginHmac(
  { header = '', prefix = '', encoding = 'hex' }: Verify,
  secrets: readonly string[],
  { headers }: SignedCall,
): HookVerification | HookFault {
  const value = headerOf(headers, header.toLowerCase());
  if (value === undefined || !value.startsWith(prefix)) return 'unsigned';
  const signature = decoded(value.slice(prefix.length), encoding);
  if (signature === undefined) return 'unsigned';
  return hmacs(
    secrets.map((secret) => createHmac('sha256', secret)),
    [signature],
  );
}

function hmacs(expected: readonly Hmac[], signatures: readonly Buffer[]): HookVerification {
  return {
    update: (piece) => {
      for (const hmac of expected) hmac.update(piece);
    },
    finish() {
      const digests = expected.map((hmac) => hmac.digest());
      const isSigned = digests.some((digest) => signatures.some((signature) => isEqual(digest, signature)));
      return Promise.resolve(isSigned ? undefined : 'wrong_signature');
    },
  };
}

/** @see https://docs.fal.ai/model-apis/model-endpoints/webhooks */
function beginFal(jwksUrl: string, keys: PublicKeys, { headers, nowMs }: SignedCall): HookVerification | HookFault {
  const names = ['request-id', 'user-id', 'timestamp'].map((name) => headerOf(headers, `x-fal-webhook-${name}`));
  const [, , timestamp] = names;
  const signature = decoded(headerOf(headers, 'x-fal-webhook-signature') ?? '', 'hex');
  if (timestamp === undefined || names.includes(undefined) || signature === undefined) return 'unsigned';
  const fault = findTimeFault(timestamp, nowMs);
  if (fault !== undefined) return fault;

  const hash = createHash('sha256');
  return {
    update: (piece) => void hash.update(piece),
    async finish() {
      const message = Buffer.from([...names, hash.digest('hex')].join('\n'), 'utf8');
      // A signature does not name its key.
      const isSigned = (candidates: readonly KeyObject[]) =>
        candidates.some((key) => verifySignature(null, message, key, signature));
      const known = await keys.get(jwksUrl);
      if (isSigned(known)) return undefined;
      const renewed = await keys.renew(jwksUrl, known);
      if (renewed !== undefined && isSigned(renewed)) return undefined;
      return (renewed ?? known).length === 0 ? 'no_keys' : 'wrong_signature';
    },
  };
}

/** The one value of a header, if it has a plain one. */
function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && /^[\x20-\x7e]{1,4096}$/.test(value) ? value : undefined;
}

function findTimeFault(timestamp: string, nowMs: number): HookFault | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'unsigned';
  return Math.abs(nowMs / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS ? 'too_old' : undefined;
}

/** @returns undefined: it is not of that encoding, or empty. */
function decoded(text: string, encoding: 'hex' | 'base64'): Buffer | undefined {
  const form = encoding === 'hex' ? /^(?:[0-9a-fA-F]{2})+$/ : /^[A-Za-z0-9+/]+={0,2}$/;
  return form.test(text) ? Buffer.from(text, encoding) : undefined;
}

function isEqual(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}
