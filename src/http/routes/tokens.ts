/** `/v1/tokens`: short-lived tokens for browsers and mobile applications (contract §7). */
import { CreateTokenSchema, RevokedTokenSchema, TokenSchema } from '@darkroom/api/tasks/token';
import type { CreateTokenBody } from '@darkroom/api/tasks/token';
import { createToken, revokeToken } from '../../accounts/tokens.ts';
import { parseUsd } from '../../domain/money.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { checkNewKey } from './keys.ts';

const DEFAULT_SECONDS = 600;
const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

export function tokenRoutes(http: HttpContext): readonly Route[] {
  return [
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
        check(http, body);
        const { scopes, models, spendCap, seconds = DEFAULT_SECONDS, origins } = body;
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

/** Validates what the schema cannot express. @throws {RequestError} 400 naming the field. */
function check(http: HttpContext, { models, origins = [] }: CreateTokenBody): void {
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
