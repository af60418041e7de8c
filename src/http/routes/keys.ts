/**
 * `/v1/account/keys`: the account's API keys, created and changed with one of them that has the right (contract §7).
 */
import type { Caller } from '../../accounts/authenticate.ts';
import { createKeyWith, revokeKeyWith, rotateKeyWith } from '../../accounts/key-delegation.ts';
import { listKeys, readKey } from '../../accounts/keys.ts';
import type { KeyListing } from '../../accounts/keys.ts';
import { readCapSpending } from '../../billing/spend-caps.ts';
import { CreateKeySchema, CreatedKeySchema, KeyListSchema, KeySchema, RotateKeySchema } from '@darkroom/api/tasks/key';
import { presentKey, rightsOf } from '../../presenters/key.ts';
import type { CreateKeyBody, WireKey } from '@darkroom/api/tasks/key';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';

const params = { keyId: 'The key id, as returned by `GET /v1/account/keys`.' };
const ERRORS = ['FORBIDDEN', 'NOT_FOUND'] as const;

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
