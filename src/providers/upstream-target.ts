/**
 * Where a call to an upstream goes and with which credential. The base URL comes from the operator's model file,
 * the credential from configuration, under the name that the file has for it.
 */
import { secretVariable } from '../upstreams/secrets.ts';
import type { SecretSource } from '../upstreams/secrets.ts';
import type { UpstreamBinding } from './provider.ts';

/** How the credential of a binding is sent; default: `Authorization: Bearer`. */
export type Authorize = (secret: string, upstream: UpstreamBinding) => Readonly<Record<string, string>>;

/** Where a call goes and with which credential, or a message that states what the operator must configure. */
export function targetOf(
  upstream: UpstreamBinding,
  path: string,
  secrets: SecretSource,
  authorize: Authorize,
): { readonly url: URL; readonly headers: Readonly<Record<string, string>> } | string {
  const address = `${(upstream.baseUrl ?? '').replace(/\/+$/, '')}${path}`;
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    return 'the model names no usable base URL for its upstream';
  }
  const headers = { 'user-agent': 'darkroom' };
  if (upstream.secret === undefined) return { url: new URL(address), headers };
  const secret = secrets.get(upstream.secret);
  if (secret === undefined)
    return `no credential is configured for this upstream: set ${secretVariable(upstream.secret)}`;
  return { url: new URL(address), headers: { ...headers, ...authorize(secret, upstream) } };
}

/** The host, for the log: enough to identify the upstream, without path or user info. */
export function hostOf(upstream: UpstreamBinding): string | undefined {
  const { baseUrl } = upstream;
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : undefined;
}
