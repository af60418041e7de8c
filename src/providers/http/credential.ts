/** How a binding's secret is sent, as its model file specifies. */
import type { SecretSource } from '../../upstreams/secrets.ts';
import type { UpstreamBinding } from '../provider.ts';
import { findBinding } from './binding.ts';

/** The headers that carry it; none if it goes into the query. */
export function credentialHeaders(secret: string, upstream: UpstreamBinding): Readonly<Record<string, string>> {
  const { scheme = 'bearer', name = 'authorization', prefix = '' } = findBinding(upstream)?.auth ?? {};
  switch (scheme) {
    case 'bearer':
      return { authorization: `Bearer ${secret}` };
    case 'basic':
      return { authorization: `Basic ${Buffer.from(secret, 'utf8').toString('base64')}` };
    case 'header':
      return { [name]: `${prefix}${secret}` };
    case 'query':
      return {};
  }
}

/** A URL or a path with the secret in its query, if the secret goes there and one is configured. */
export function withCredential(address: string, upstream: UpstreamBinding, secrets: SecretSource): string {
  const auth = findBinding(upstream)?.auth;
  const secret = upstream.secret === undefined ? undefined : secrets.get(upstream.secret);
  if (auth?.scheme !== 'query' || auth.name === undefined || secret === undefined) return address;
  return `${address}${address.includes('?') ? '&' : '?'}${auth.name}=${encodeURIComponent(secret)}`;
}
