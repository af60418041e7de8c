/** `/v1/account/keys` as a client uses it, of an app on a clock of its own, shared by the tests of keys. */
import assert from 'node:assert/strict';
import type { WireKey } from '@darkroom/api/tasks/key';
import { ApiClient } from '../support/api-client.ts';
import { serveApp } from './serve.ts';
import type { ServedAccount, ServedApp } from './serve.ts';

export const KEYS = '/v1/account/keys';

export interface KeyAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Of a success; `key` only if one was created. */
  readonly data: WireKey & { readonly key: string };
}

export async function ask(client: ApiClient, method: string, path: string, sent?: unknown): Promise<KeyAnswer> {
  const answer = await client.send(method, path, sent);
  const { error_code: code, message, data } = answer.body;
  return { status: answer.status, code, message, data: data as unknown as KeyAnswer['data'] };
}

export async function list(client: ApiClient): Promise<readonly WireKey[]> {
  const { body } = await client.send('GET', KEYS);
  return (body.data as unknown as { keys: readonly WireKey[] }).keys;
}

/** A key that was created over HTTP, and a client that uses it. */
export type CreatedKey = KeyAnswer['data'] & { readonly client: ApiClient };

/** An app for the tests of one file, and an account of it. */
export interface KeyRoom {
  readonly served: ServedApp;
  readonly account: ServedAccount;
  /** The app's, in milliseconds since 1970; it is fixed until a test moves it. */
  readonly clock: { nowMs: number };
  /** Creates a key over HTTP. */
  make(client: ApiClient, rights?: Record<string, unknown>): Promise<CreatedKey>;
}

/** The initial time of a key room's clock. */
export const START = Date.parse('2027-03-01T12:00:00Z');

/** The caller closes the app. */
export async function openKeyRoom(): Promise<KeyRoom> {
  const clock = { nowMs: START };
  const served = await serveApp({ now: () => clock.nowMs });
  return {
    served,
    account: await served.newAccount(),
    clock,
    async make(client, rights = {}) {
      const made = await ask(client, 'POST', KEYS, { name: 'made', scopes: ['tasks:read', 'tasks:write'], ...rights });
      assert.equal(made.status, 200, made.message);
      return { ...made.data, client: new ApiClient([served.url], made.data.key) };
    },
  };
}

/** Whether a key is accepted at all, whatever its rights. */
export async function works(client: ApiClient): Promise<boolean> {
  const { status } = await client.send('GET', '/v1/tasks/tk-svc-00000000000000000000000000');
  assert.ok([404, 403, 401].includes(status), String(status));
  return status !== 401;
}
