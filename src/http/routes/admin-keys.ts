/**
 * API keys as operators manage them: with any rights, for any account. What a key's owner can do with it is in
 * keys.ts.
 */
import { readAccount } from '../../accounts/accounts.ts';
import { KeyNotFoundError, createKey, listKeys, readKey, revokeKey, rotateKey } from '../../accounts/keys.ts';
import { RevokedKeySchema } from '@darkroom/api/admin/admin';
import { CreateKeySchema, CreatedKeySchema, KeyListSchema, RotateKeySchema } from '@darkroom/api/tasks/key';
import { rightsOf } from '../../presenters/key.ts';
import type { WireKey } from '@darkroom/api/tasks/key';
import { ACCOUNT_PARAMS, KEY_PARAMS, idOf, logChange } from './admin-request.ts';
import type { HttpContext } from '../app/context.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { checkNewKey, presentKeys } from './keys.ts';

const shared = { tag: 'Administration', access: 'operator', errors: ['NOT_FOUND'] } as const;

export function adminKeyRoutes(http: HttpContext): readonly Route[] {
  const { database } = http;

  const presentMade = async (keyId: string, secret: string): Promise<WireKey & { key: string }> => {
    const [key] = await presentKeys(http, [await readKey(database, keyId)]);
    if (key === undefined) throw new KeyNotFoundError(keyId);
    return { ...key, key: secret };
  };

  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/admin/accounts/{accountId}/keys',
      operationId: 'adminListKeys',
      summary: 'List keys of an account',
      params: ACCOUNT_PARAMS,
      response: { kind: 'data', schema: KeyListSchema },
      async handle({ params }) {
        const { id } = await readAccount(database, idOf(params, 'accountId'));
        return { keys: await presentKeys(http, await listKeys(database, id)) };
      },
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: '/admin/accounts/{accountId}/keys',
      operationId: 'adminCreateKey',
      summary: 'Create a key for an account',
      description: 'The response contains the key, which is not shown again.',
      params: ACCOUNT_PARAMS,
      body: { kind: 'json', schema: CreateKeySchema },
      response: { kind: 'data', schema: CreatedKeySchema },
      async handle({ ctx, params, body }) {
        const accountId = idOf(params, 'accountId');
        checkNewKey(http, body);
        const made = await database.transaction((transaction) => createKey(transaction, accountId, rightsOf(body)));
        logChange(http, ctx, 'create key', { accountId, keyId: made.id });
        return presentMade(made.id, made.secret);
      },
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: '/admin/keys/{keyId}/rotate',
      operationId: 'adminRotateKey',
      summary: 'Rotate a key',
      description:
        'Creates a key with the same permissions. The response contains the key, which is not shown again. The old key continues to work during the overlap, but not beyond its own expiry.',
      params: KEY_PARAMS,
      body: { kind: 'json', schema: RotateKeySchema, isOptional: true },
      response: { kind: 'data', schema: CreatedKeySchema },
      async handle({ ctx, params, body }) {
        const keyId = idOf(params, 'keyId');
        const made = await database.transaction((transaction) =>
          rotateKey(transaction, keyId, { now: http.now(), ...body }),
        );
        http.authenticator.forget(keyId);
        logChange(http, ctx, 'rotate key', { keyId, newKeyId: made.id });
        return presentMade(made.id, made.secret);
      },
    }),
    defineRoute({
      ...shared,
      method: 'DELETE',
      path: '/admin/keys/{keyId}',
      operationId: 'adminRevokeKey',
      summary: 'Revoke a key',
      description: 'Cannot be undone. Takes effect in all processes within a second.',
      params: KEY_PARAMS,
      response: { kind: 'data', schema: RevokedKeySchema },
      async handle({ ctx, params }) {
        const keyId = idOf(params, 'keyId');
        if (!(await revokeKey(database, keyId))) throw new KeyNotFoundError(keyId);
        http.authenticator.forget(keyId);
        logChange(http, ctx, 'revoke key', { keyId });
        return { keyId, revoked: true };
      },
    }),
  ];
}
