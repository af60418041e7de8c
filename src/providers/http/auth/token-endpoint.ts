/** Obtains access tokens of OAuth 2.0: for a client (RFC 6749 §4.4), or for a service account of Google (RFC 7523). */
import { SignJWT, importPKCS8 } from 'jose';
import { ExchangeLost } from '../../http-exchange.ts';
import type { HttpExchange } from '../../http-exchange.ts';
import { textAt, valueAt } from '../../json-answer.ts';
import { CredentialError } from '../../upstream-target.ts';
import type { Auth } from './auth.ts';
import { malformed, readKeyFile, splitSecret } from './secret-form.ts';
import type { IssuedToken } from './tokens.ts';

const GOOGLE_TOKEN_URL = 'https://oauth2.googleapis.com/token';
const GOOGLE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
/** An hour, which is the longest that Google accepts. */
const ASSERTION_SECONDS = 3_600;
/** Where the issuer does not say how long a token is valid (RFC 6749 recommends that it does). */
const DEFAULT_LIFETIME_SECONDS = 300;
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 64 * 1024;
const MAX_TOKEN_LENGTH = 8_192;

/** @param auth of scheme `oauth2-client`. @param secret `client-id:client-secret`. @throws {CredentialError} */
export async function issueClientToken(exchange: HttpExchange, auth: Auth, secret: string): Promise<IssuedToken> {
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

/** @param auth of scheme `google-service-account`. @param secret the JSON key file. @throws {CredentialError} */
export async function issueGoogleToken(exchange: HttpExchange, auth: Auth, secret: string): Promise<IssuedToken> {
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
    throw malformed('has a private key that cannot be used: RS256 in PKCS #8 is needed');
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
