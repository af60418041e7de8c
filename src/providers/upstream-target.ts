/**
 * Where a call to an upstream goes and with which credential. The base URL comes from the operator's model file,
 * the credential from configuration, under the name that the file has for it.
 */
import { secretVariable } from '../upstreams/secrets.ts';
import type { SecretSource } from '../upstreams/secrets.ts';
import type { UpstreamBinding } from './provider.ts';

/** What an authorization may have to sign. */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** Undefined: none, or a stream. */
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal;
}

/** What proves to an upstream who calls. */
export interface Authorization {
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters that are added to the URL. */
  readonly query?: Readonly<Record<string, string>>;
}

/** How the credentials of one protocol are used. */
export interface Access {
  /** @throws {CredentialError} the credential cannot be used. */
  authorize(secret: string, upstream: UpstreamBinding, request: SignedRequest): Authorization | Promise<Authorization>;
  /**
   * Whether the credential may be sent to this URL. Default: only to the origin of the base URL.
   */
  isTrusted?(url: URL, upstream: UpstreamBinding): boolean;
  /**
   * Forgets what was derived from a credential, after the upstream answered 401.
   *
   * @returns whether the next call uses something newer, so that it is worth repeating.
   */
  renew?(secret: string, upstream: UpstreamBinding): boolean;
}

/** `Authorization: Bearer`, as most upstreams have it. */
export const BEARER_ACCESS: Access = {
  authorize: (secret) => ({ headers: { authorization: `Bearer ${secret}` } }),
};

/** A credential cannot be used: it has another form than its scheme needs, or no token could be obtained for it. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
  /** Whether only the operator can change it. */
  readonly isPermanent: boolean;

  /** @param message for the operator's log; without anything of the credential. */
  constructor(message: string, { isPermanent }: { readonly isPermanent: boolean }) {
    super(message);
    this.isPermanent = isPermanent;
  }
}

/** A path below the base URL, with a leading `/`; or an absolute URL, which the model file allows. */
export type Address = string | URL;

export interface Target {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the credential is sent. */
  readonly isAuthorized: boolean;
}

/**
 * Where a call goes and with which headers.
 *
 * @throws {CredentialError} the upstream is not configured, or its credential cannot be used.
 */
export async function targetOf(
  upstream: UpstreamBinding,
  address: Address,
  request: Omit<SignedRequest, 'url'>,
  secrets: SecretSource,
  access: Access,
): Promise<Target> {
  const url = urlOf(upstream, address);
  if (url === undefined) throw unconfigured('the model names no usable base URL for its upstream');
  const headers = { 'user-agent': 'darkroom' };
  if (upstream.secret === undefined) return { url, headers, isAuthorized: false };
  const secret = secrets.get(upstream.secret);
  if (secret === undefined) {
    throw unconfigured(`no credential is configured for this upstream: set ${secretVariable(upstream.secret)}`);
  }
  if (!isTrusted(url, upstream, access)) return { url, headers, isAuthorized: false };
  const authorization = await access.authorize(secret, upstream, { ...request, url });
  assertSendable(authorization);
  // Appended as text: `searchParams` would encode anew what is there.
  const query = Object.entries(authorization.query ?? {}).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  if (query.length > 0) url.search = [...(url.search === '' ? [] : [url.search.slice(1)]), ...query].join('&');
  return { url, headers: { ...headers, ...authorization.headers }, isAuthorized: true };
}

/** @throws {CredentialError} the client would reject the header, whose value is not for the log. */
function assertSendable({ headers = {} }: Authorization): void {
  if (Object.values(headers).every((value) => /^[\x20-\x7e]+$/.test(value))) return;
  throw new CredentialError('the credential has a line end, a control character or one beyond ASCII: set it again', {
    isPermanent: true,
  });
}

/** Whether an upstream's credential may be sent to a URL. */
export function isTrusted(url: URL, upstream: UpstreamBinding, access: Access): boolean {
  const { baseUrl } = upstream;
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return false;
  return url.origin === new URL(baseUrl).origin || access.isTrusted?.(url, upstream) === true;
}

/** The absolute URL of an address; undefined if the model file has no base URL for it. */
export function urlOf({ baseUrl = '' }: { readonly baseUrl?: string | undefined }, address: Address): URL | undefined {
  if (address instanceof URL) return new URL(address);
  const text = `${baseUrl.replace(/\/+$/, '')}${address}`;
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}

/** The host, for the log: enough to identify the upstream, without path or user info. */
export function hostOf(upstream: UpstreamBinding): string | undefined {
  const { baseUrl } = upstream;
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
}

function unconfigured(message: string): CredentialError {
  return new CredentialError(message, { isPermanent: true });
}
