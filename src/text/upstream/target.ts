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

type Address = Omit<UpstreamTarget, 'headers'>;

const HEADERS = {
  'content-type': 'application/json',
  'user-agent': 'darkroom',
  'accept-encoding': 'identity',
};

/** Where an upstream's calls go, or a message that states what the operator must configure. */
export function textTargetOf(upstream: TextUpstream, secrets: SecretSource): UpstreamTarget | string {
  const address = addressOf(upstream);
  if (address === undefined) return 'the model names no usable base URL for its upstream';
  const { secret } = upstream;
  if (secret === undefined) return { ...address, headers: HEADERS };
  const credential = secrets.get(secret);
  if (credential === undefined) {
    return `no credential is configured for this upstream: set UPSTREAM_${secret.toUpperCase()}_KEY`;
  }
  return { ...address, headers: { ...HEADERS, authorization: `Bearer ${credential}` } };
}

/** Parsed once for each upstream that is loaded; a credential may change at any time. */
const ADDRESSES = new WeakMap<TextUpstream, Address>();

/** @returns undefined: the base URL is missing, or is no URL of HTTP. */
function addressOf(upstream: TextUpstream): Address | undefined {
  const known = ADDRESSES.get(upstream);
  if (known !== undefined) return known;
  const { baseUrl } = upstream;
  if (baseUrl === undefined || !/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) return undefined;
  const { origin, pathname, search } = new URL(baseUrl);
  const address = { origin, basePath: pathname.replace(/\/+$/, ''), search };
  ADDRESSES.set(upstream, address);
  return address;
}
