/**
 * Where the calls of an upstream go, with which credential, and what its name is. The base URL comes from the
 * operator's model file, the credential from configuration, under the name that the file has for it.
 */
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import type { SecretSource } from '../../upstreams/secrets.ts';

export interface UpstreamTarget {
  readonly origin: string;
  /** The path before the interface's own, e.g. `/v1`. */
  readonly basePath: string;
  /** The query of the base URL: some gateways require their version there. */
  readonly search: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where an upstream's calls go, or a message that states what the operator must configure. */
export function textTargetOf({ baseUrl, secret }: TextUpstream, secrets: SecretSource): UpstreamTarget | string {
  if (baseUrl === undefined || !/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) {
    return 'the model names no usable base URL for its upstream';
  }
  const { origin, pathname, search } = new URL(baseUrl);
  const address = { origin, basePath: pathname.replace(/\/+$/, ''), search };
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'darkroom',
    'accept-encoding': 'identity',
  };
  if (secret === undefined) return { ...address, headers };
  const credential = secrets.get(secret);
  if (credential === undefined) {
    return `no credential is configured for this upstream: set UPSTREAM_${secret.toUpperCase()}_KEY`;
  }
  return { ...address, headers: { ...headers, authorization: `Bearer ${credential}` } };
}

/** The host, for the log: enough to identify the upstream, without path or user info. */
export function textHostOf({ baseUrl }: TextUpstream): string | undefined {
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
}

/**
 * The name of an upstream in logs and limits. It differs from the names for media models, though both may be at one
 * host: a pause requested for text has its own limits there, and for each model.
 */
export function textUpstreamName(upstream: TextUpstream): string {
  return `text:${upstream.id ?? `${textHostOf(upstream) ?? upstream.protocol}/${upstream.model}`}`;
}
