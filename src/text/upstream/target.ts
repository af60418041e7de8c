/**
 * Where the calls of an upstream go, with which credential, and what it is called. The base address comes from the
 * operator's model file, the credential from configuration, by the name that the file has for it.
 */
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import type { SecretSource } from '../../upstreams/secrets.ts';

export interface UpstreamTarget {
  readonly origin: string;
  /** Before the interface's own, e.g. `/v1`. */
  readonly basePath: string;
  /** What the base address has behind a question mark: some gateways ask for their version there. */
  readonly search: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where an upstream's calls go, or the sentence that tells the operator what is missing. */
export function textTargetOf({ baseUrl, secret }: TextUpstream, secrets: SecretSource): UpstreamTarget | string {
  if (baseUrl === undefined || !/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) {
    return 'the model names no usable base address for its upstream';
  }
  const { origin, pathname, search } = new URL(baseUrl);
  const place = { origin, basePath: pathname.replace(/\/+$/, ''), search };
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'darkroom',
    'accept-encoding': 'identity',
  };
  if (secret === undefined) return { ...place, headers };
  const credential = secrets.get(secret);
  if (credential === undefined) {
    return `no credential is configured for this upstream: set UPSTREAM_${secret.toUpperCase()}_KEY`;
  }
  return { ...place, headers: { ...headers, authorization: `Bearer ${credential}` } };
}

/** The host, for the log: enough to know which upstream it is, without path or user info. */
export function textHostOf({ baseUrl }: TextUpstream): string | undefined {
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
}

/**
 * What logs and limits call an upstream. Not as media models call theirs, though both may be at one host: what text asks
 * to be left alone for has its own limits there, and of each model.
 */
export function textUpstreamName(upstream: TextUpstream): string {
  return `text:${upstream.id ?? `${textHostOf(upstream) ?? upstream.protocol}/${upstream.model}`}`;
}
