/**
 * `/v1/account/keys`: the account's API keys, created and changed with one of them that has the right, and
 * `/v1/tokens`: short-lived tokens for browsers and mobile applications (contract §7).
 */
import { CreateKeySchema, CreatedKeySchema, KeyListSchema, KeySchema, RotateKeySchema } from '@darkroom/api/tasks/key';
import type { CreateKeyBody, WireKey } from '@darkroom/api/tasks/key';
import { CreateTokenSchema, RevokedTokenSchema, TokenSchema } from '@darkroom/api/tasks/token';
import type { CreateTokenBody } from '@darkroom/api/tasks/token';
import type { Caller } from '../../accounts/authenticate.ts';
import { createKeyWith, revokeKeyWith, rotateKeyWith } from '../../accounts/key-delegation.ts';
import { listKeys, readKey } from '../../accounts/keys.ts';
import type { KeyListing } from '../../accounts/keys.ts';
import { createToken, revokeToken } from '../../accounts/tokens.ts';
import { readCapSpending } from '../../billing/spend-caps.ts';
import { parseUsd } from '../../domain/money.ts';
import { presentKey, rightsOf } from '../../presenters/key.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const params = { keyId: 'The key id, as returned by `GET /v1/account/keys`.' };
const ERRORS = ['FORBIDDEN', 'NOT_FOUND'] as const;

/** How long a token lasts, if its request does not say. */
const DEFAULT_TOKEN_SECONDS = 600;
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

export function keyRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/account/keys',
      operationId: 'listKeys',
      tag: 'Keys',
      summary: 'List keys',
      access: 'keys:manage',
      response: { kind: 'data', schema: KeyListSchema },
      async handle({ caller }) {
        return { keys: await presentKeys(http, await listKeys(http.database, caller.accountId)) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/account/keys',
      operationId: 'createKey',
      tag: 'Keys',
      summary: 'Create a key',
      description:
        'The response contains the key, which is not shown again. The new key cannot have more scopes, more models, higher spend caps or a longer lifetime than the key that creates it, and its spending counts against the spend caps of that key.',
      access: 'keys:manage',
      budget: 'create',
      body: {
        kind: 'json',
        schema: CreateKeySchema,
        examples: {
          limited: {
            summary: 'A key for one service, with spend caps',
            value: { name: 'web shop', scopes: ['tasks:read', 'tasks:write'], spendCaps: { day: '5', total: '100' } },
          },
        },
      },
      response: { kind: 'data', schema: CreatedKeySchema },
      errors: ['FORBIDDEN'],
      async handle({ caller, body }) {
        checkNewKey(http, body);
        const made = await createKeyWith(http.database, caller, rightsOf(body), http.now());
        return { ...(await presentOne(http, caller, made.id)), key: made.secret };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/account/keys/{keyId}/rotate',
      operationId: 'rotateKey',
      tag: 'Keys',
      summary: 'Rotate a key',
      description:
        'Creates a key with the same permissions. The response contains the key, which is not shown again. The old key continues to work during the overlap, but not beyond its own expiry.',
      access: 'keys:manage',
      budget: 'create',
      params,
      body: { kind: 'json', schema: RotateKeySchema, isOptional: true },
      response: { kind: 'data', schema: CreatedKeySchema },
      errors: ERRORS,
      async handle({ caller, params: { keyId = '' }, body }) {
        const made = await rotateKeyWith(http.database, caller, keyId, { now: http.now(), ...body });
        http.authenticator.forget(keyId);
        return { ...(await presentOne(http, caller, made.id)), key: made.secret };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/account/keys/{keyId}',
      operationId: 'revokeKey',
      tag: 'Keys',
      summary: 'Revoke a key',
      description:
        'Cannot be undone. Takes effect in all processes within a second. Keys that were created with this key remain valid. A key with this scope can always revoke itself.',
      access: 'keys:manage',
      params,
      response: { kind: 'data', schema: KeySchema },
      errors: ERRORS,
      async handle({ caller, params: { keyId = '' } }) {
        await revokeKeyWith(http.database, caller, keyId, http.now());
        http.authenticator.forget(keyId);
        return presentOne(http, caller, keyId);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/tokens',
      operationId: 'createToken',
      tag: 'Keys',
      summary: 'Create a short-lived token',
      description:
        'For browsers and mobile applications, which must not have a key. The token is sent as a key is, acts as the key that creates it with a part of its rights, and ends with it: when the key expires or is revoked, so does the token. Pages of its `origins`, and of no others, can use it (CORS).',
      access: 'tasks:write',
      budget: 'create',
      body: {
        kind: 'json',
        schema: CreateTokenSchema,
        examples: {
          page: {
            summary: 'For a page',
            value: {
              scopes: ['tasks:read', 'tasks:write'],
              models: ['darkroom/scene'],
              spendCap: '0.5',
              seconds: 600,
              origins: ['https://shop.example'],
            },
          },
        },
      },
      response: { kind: 'data', schema: TokenSchema },
      errors: ['FORBIDDEN'],
      async handle({ caller, body }) {
        checkNewToken(http, body);
        const { scopes, models, spendCap, seconds = DEFAULT_TOKEN_SECONDS, origins } = body;
        const spendCapMicroUsd = spendCap === undefined ? undefined : parseUsd(spendCap);
        const rights = { scopes, models, spendCapMicroUsd, seconds, origins };
        const token = await createToken(http.accountDatabase(caller.accountId), caller, rights, http.now());
        return {
          id: token.id,
          token: token.secret,
          keyId: caller.keyId,
          scopes,
          models: token.models ?? null,
          origins: origins ?? [],
          expiresAt: Math.floor(token.expiresAt.getTime() / 1000),
        };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/tokens/{tokenId}',
      operationId: 'revokeToken',
      tag: 'Keys',
      summary: 'Revoke a short-lived token',
      description:
        'With a key of the account, or with the token itself. Cannot be undone; revoking a token twice is revoking it once. Takes effect in all processes within a second. Its tasks continue.',
      access: 'tasks:write',
      params: { tokenId: 'The `id` of the token, as returned by `POST /v1/tokens`.' },
      response: { kind: 'data', schema: RevokedTokenSchema },
      errors: ['FORBIDDEN', 'NOT_FOUND'],
      async handle({ caller, params: { tokenId = '' } }) {
        const token = await revokeToken(http.accountDatabase(caller.accountId), caller, tokenId, http.now());
        http.authenticator.forget(tokenId);
        const { id, keyId, scopes, models, origins, expiresAt } = token;
        const seconds = Math.floor(expiresAt.getTime() / 1000);
        return { id, keyId, scopes, models, origins: origins ?? [], expiresAt: seconds };
      },
    }),
  ];
}

/** Validates what the schema of a new key cannot express. @throws {RequestError} 400 naming the field. */
export function checkNewKey(http: HttpContext, { models, expiresAt = 0 }: CreateKeyBody): void {
  const known = new Set(http.catalogue.models.map(({ name }) => name));
  const index = models?.findIndex((name) => !known.has(name)) ?? -1;
  if (index >= 0) {
    const name = JSON.stringify(models?.[index]?.slice(0, 64));
    throw invalidRequest(`invalid request: models.${index}: got ${name}, want the name of a model without its route`);
  }
  if (expiresAt !== 0 && expiresAt * 1000 <= http.now()) {
    throw invalidRequest(`invalid request: expiresAt: got ${expiresAt}, want a time in the future`);
  }
}

/** The same for a new token. @throws {RequestError} 400 naming the field. */
function checkNewToken(http: HttpContext, { models, origins = [] }: CreateTokenBody): void {
  checkNewKey(http, { name: 'token', scopes: [], ...(models === undefined ? {} : { models }) });
  const index = origins.findIndex((origin) => !isOrigin(origin));
  if (index < 0) return;
  const field = `origins.${index}`;
  const message = `invalid request: ${field}: got ${JSON.stringify(origins[index]?.slice(0, 64))}, want an origin such as https://shop.example`;
  throw invalidRequest(message, { param: field, keyword: 'format' });
}

/** In the form that browsers send: scheme, host and port, and nothing else. */
function isOrigin(text: string): boolean {
  // A wildcard is a valid host name.
  if (text.includes('*') || !URL.canParse(text)) return false;
  const { protocol, hostname, origin } = new URL(text);
  return origin === text && (protocol === 'https:' || (protocol === 'http:' && LOCAL_HOSTS.includes(hostname)));
}

async function presentOne(http: HttpContext, { accountId }: Caller, keyId: string): Promise<WireKey> {
  const key = await readKey(http.database, keyId, accountId);
  const [presented] = await presentKeys(http, [key]);
  if (presented === undefined) throw new Error('presentKeys did not return the key');
  return presented;
}

/** Keys with what was spent under their caps. */
export async function presentKeys(http: HttpContext, keys: readonly KeyListing[]): Promise<WireKey[]> {
  const capIds = keys.flatMap(({ spendCapId }) => spendCapId ?? []);
  const spending = await readCapSpending(http.database, [...new Set(capIds)], http.now());
  return keys.map((key) => presentKey(key, spending));
}
