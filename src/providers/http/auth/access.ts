/**
 * Uses a credential in the way that the binding of its upstream declares: as it is, for a signature, or for tokens,
 * which are signed here or issued by an endpoint of OAuth 2.0.
 */
import { createHash } from 'node:crypto';
import { SignJWT, importPKCS8 } from 'jose';
import { LRUCache } from 'lru-cache';
import { unlessAborted } from '../../../domain/waits.ts';
import { ExchangeLost, createHttpExchange } from '../../http-exchange.ts';
import type { HttpExchange } from '../../http-exchange.ts';
import { textAt, valueAt } from '../../json-answer.ts';
import type { UpstreamBinding } from '../../provider.ts';
import { CredentialError } from '../../upstream-target.ts';
import type { Access, Authorization, SignedRequest } from '../../upstream-target.ts';
import { findBinding } from '../binding.ts';
import { mayReceiveCredential } from '../hosts.ts';
import { malformedSecret, readKeyFile, splitSecret } from './auth.ts';
import type { Auth } from './auth.ts';
import { signV4 } from './signature-v4.ts';

const DEFAULT_JWT_SECONDS = 1_800;
/** A token is valid from this long ago, in seconds, so that a server whose clock is behind accepts it. */
const CLOCK_SKEW_SECONDS = 5;
/** A token is replaced this long before it expires, in seconds, or a tenth of its life before: what is shorter. */
const MARGIN_SECONDS = 60;
const YOUNG_MS = 10_000;
const MAX_TOKENS = 500;

const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token';
const GOOGLE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/** An hour, which is the longest that Google accepts. */
const ASSERTION_SECONDS = 3_600;
/** Where the issuer does not say how long a token is valid (RFC 6749 recommends that it does). */
const DEFAULT_LIFETIME_SECONDS = 300;
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;
const MAX_TOKEN_LENGTH = 8_192;

/** Creates the access of protocol `http`, with tokens of its own. @param exchange obtains them. */
export function createAccess(exchange: HttpExchange = createHttpExchange()): Access {
  const tokens = createTokens();

  const bearer = async (
    auth: Auth,
    secret: string,
    signal: AbortSignal,
    issue: Parameters<typeof tokens.get>[1],
  ): Promise<Authorization> => {
    const token = await unlessAborted(tokens.get(keyOf(auth, secret), issue), signal);
    return { headers: { authorization: `Bearer ${token}` } };
  };

  return {
    authorize(secret: string, upstream: UpstreamBinding, request: SignedRequest) {
      const auth = authOf(upstream);
      const { name = 'authorization', prefix = '' } = auth;
      switch (auth.scheme) {
        case 'bearer':
          return { headers: { authorization: `Bearer ${secret}` } };
        case 'basic':
          return { headers: { authorization: `Basic ${Buffer.from(secret, 'utf8').toString('base64')}` } };
        case 'header':
          return { headers: { [name]: `${prefix}${secret}` } };
        case 'query':
          return { query: { [name]: secret } };
        case 'jwt-hs256':
          return bearer(auth, secret, request.signal, () => signToken(auth, secret));
        case 'sigv4': {
          const [accessKeyId, secretAccessKey] = splitSecret(secret, 'access-key-id:secret-access-key');
          const { region = '', service = '', variant } = auth;
          const key = { accessKeyId, secretAccessKey, region, service };
          return { headers: signV4(request, key, { variant, now: new Date() }) };
        }
        case 'google-service-account':
          return bearer(auth, secret, request.signal, () => issueGoogleToken(exchange, auth, secret));
        case 'oauth2-client':
          return bearer(auth, secret, request.signal, () => issueClientToken(exchange, auth, secret));
      }
    },
    isTrusted: (url, upstream) =>
      mayReceiveCredential(url, { baseUrl: upstream.baseUrl, hosts: findBinding(upstream)?.hosts }),
    renew: (secret, upstream) => tokens.forget(keyOf(authOf(upstream), secret)),
  };
}

function authOf(upstream: UpstreamBinding): Auth {
  return findBinding(upstream)?.auth ?? { scheme: 'bearer' };
}

/** Two bindings with the same credential and the same `auth` share their tokens. */
function keyOf(auth: Auth, secret: string): string {
  return createHash('sha256')
    .update(JSON.stringify([auth, secret]))
    .digest('hex');
}

async function signToken({ lifetimeSeconds = DEFAULT_JWT_SECONDS }: Auth, secret: string) {
  const [issuer, key] = splitSecret(secret, 'issuer:key');
  const now = Math.floor(Date.now() / 1_000);
  const token = await new SignJWT()
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer(issuer)
    .setNotBefore(now - CLOCK_SKEW_SECONDS)
    .setExpirationTime(now + lifetimeSeconds)
    .sign(Buffer.from(key, 'utf8'));
  return { token, lifetimeSeconds };
}

/** A token and how long it is valid from now. */
interface IssuedToken {
  readonly token: string;
  readonly lifetimeSeconds: number;
}

/**
 * Tokens that are derived from a credential and expire: kept in this process until shortly before they do, obtained
 * once for all who wait for the same, and never stored.
 */
interface Tokens {
  /**
   * @param key identifies the credential and everything else that the token depends on.
   * @throws what `issue` throws; the next call issues again.
   */
  get(key: string, issue: () => Promise<IssuedToken>): Promise<string>;
  /**
   * Forgets a token, so that the next call obtains another. One that is younger than a few seconds stays: another one
   * would not be accepted either.
   *
   * @returns whether it was forgotten.
   */
  forget(key: string): boolean;
}

/** @param now monotonic milliseconds, for tests. */
export function createTokens(now: () => number = () => performance.now()): Tokens {
  const cache = new LRUCache<string, { token: string; issuedAtMs: number }, () => Promise<IssuedToken>>({
    max: MAX_TOKENS,
    ttlResolution: 0,
    perf: { now },
    async fetchMethod(_key, _stale, { options, context: issue }) {
      const { token, lifetimeSeconds } = await issue();
      const margin = Math.min(MARGIN_SECONDS, lifetimeSeconds / 10);
      options.ttl = Math.max(1, (lifetimeSeconds - margin) * 1_000);
      return { token, issuedAtMs: now() };
    },
  });
  return {
    async get(key, issue) {
      const issued = await cache.forceFetch(key, { context: issue });
      return issued.token;
    },
    forget(key) {
      const known = cache.peek(key);
      if (known === undefined || now() - known.issuedAtMs < YOUNG_MS) return false;
      return cache.delete(key);
    },
  };
}

/**
 * Obtains a token for a client (RFC 6749 §4.4).
 *
 * @param auth of scheme `oauth2-client`. @param secret `client-id:client-secret`. @throws {CredentialError}
 */
async function issueClientToken(exchange: HttpExchange, auth: Auth, secret: string): Promise<IssuedToken> {
  const [clientId, clientSecret] = splitSecret(secret, 'client-id:client-secret');
  const isInBody = auth.clientAuthentication === 'body';
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(auth.scope === undefined ? {} : { scope: auth.scope }),
    ...(auth.audience === undefined ? {} : { audience: auth.audience }),
    ...(isInBody ? { client_id: clientId, client_secret: clientSecret } : {}),
  });
  // RFC 6749 §2.3.1: both are form-encoded before they are joined.
  const user = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  const headers = isInBody ? {} : { authorization: `Basic ${Buffer.from(user, 'utf8').toString('base64')}` };
  return requestToken(exchange, auth.tokenUrl ?? '', form, headers);
}

/**
 * Obtains a token for a service account of Google (RFC 7523).
 *
 * @param auth of scheme `google-service-account`. @param secret the JSON key file. @throws {CredentialError}
 */
async function issueGoogleToken(exchange: HttpExchange, auth: Auth, secret: string): Promise<IssuedToken> {
  const { email, keyId, privateKey } = readKeyFile(secret);
  const { tokenUrl = GOOGLE_TOKEN_URL, scope = GOOGLE_SCOPE } = auth;
  let assertion: string;
  try {
    assertion = await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) })
      .setIssuer(email)
      .setAudience(tokenUrl)
      .setIssuedAt()
      .setExpirationTime(`${ASSERTION_SECONDS} s`)
      .sign(await importPKCS8(privateKey, 'RS256'));
  } catch {
    throw malformedSecret('has a private key that cannot be used: RS256 in PKCS #8 is needed');
  }
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  return requestToken(exchange, tokenUrl, form, {});
}

async function requestToken(
  exchange: HttpExchange,
  tokenUrl: string,
  form: URLSearchParams,
  headers: Readonly<Record<string, string>>,
): Promise<IssuedToken> {
  const body = Buffer.from(form.toString(), 'utf8');
  const url = new URL(tokenUrl);
  const { status, json, bodyFault } = await exchange({
    method: 'POST',
    url,
    headers: { 'user-agent': 'darkroom', ...headers },
    content: { contentType: 'application/x-www-form-urlencoded', body, byteLength: body.length },
    // Not a caller's: all that need the token wait for this exchange.
    signal: AbortSignal.timeout(TIMEOUT_MS),
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
    onFreshConnection: false,
  }).catch((error: unknown) => {
    if (!(error instanceof ExchangeLost)) throw error;
    throw temporary(`no token: ${url.host} could not be reached (${error.code})`);
  });
  const token = textAt(json, 'access_token');
  if (status >= 200 && status < 300 && token !== undefined && isHeaderValue(token)) {
    const lifetime = Number(valueAt(json, 'expires_in') ?? DEFAULT_LIFETIME_SECONDS);
    return { token, lifetimeSeconds: lifetime > 0 ? lifetime : DEFAULT_LIFETIME_SECONDS };
  }
  // RFC 6749 §5.2: 400 and 401 concern the client; anything else may pass.
  if (status === 400 || status === 401 || status === 403) {
    throw new CredentialError(`no token: ${url.host} rejected the credential (${status})`, { isPermanent: true });
  }
  throw temporary(
    `no token: ${url.host} gave no usable answer (${status}${bodyFault === undefined ? '' : `, ${bodyFault}`})`,
  );
}

function isHeaderValue(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && /^[\x21-\x7e]+$/.test(token);
}

function temporary(message: string): CredentialError {
  return new CredentialError(message, { isPermanent: false });
}
