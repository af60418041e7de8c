/** Uses a credential in the way that the binding of its upstream declares. */
import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import { unlessAborted } from '../../../domain/unless-aborted.ts';
import { createHttpExchange } from '../../http-exchange.ts';
import type { HttpExchange } from '../../http-exchange.ts';
import type { UpstreamBinding } from '../../provider.ts';
import type { Access, Authorization, SignedRequest } from '../../upstream-target.ts';
import { findBinding } from '../binding.ts';
import { mayReceiveCredential } from '../hosts.ts';
import type { Auth } from './auth.ts';
import { signV4 } from './signature-v4.ts';
import { splitSecret } from './secret-form.ts';
import { issueClientToken, issueGoogleToken } from './token-endpoint.ts';
import { createTokens } from './tokens.ts';

const DEFAULT_JWT_SECONDS = 1_800;
/** A token is valid from this long ago, in seconds, so that a server whose clock is behind accepts it. */
const CLOCK_SKEW_SECONDS = 5;

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
