/**
 * Access rights: two accounts, every route, every scope, and every kind of invalid key. The expected result follows
 * from the routes' own `access`; each route gets a request that would succeed with an authorized key.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setSuspended } from '../../src/accounts/accounts.ts';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { newApiKey } from '../../src/accounts/api-key.ts';
import { revokeKey } from '../../src/accounts/keys.ts';
import { newId, newTaskId, newTextCallId, randomBase62 } from '../../src/domain/ids.ts';
import { publicRoutes } from '../../src/http/app/routes.ts';
import type { Route } from '../../src/http/app/route.ts';
import type { RawAnswer } from './raw-request.ts';
import { errorCode } from './documented-api.ts';
import { requestOf, send } from './route-requests.ts';
import { openWorld } from './world.ts';
import { unauthorizedCode } from './walk.ts';

const world = await openWorld();
const { served } = world;
after(() => world.close());
const { database } = served.room;
const owner = await served.newAccount();
const stranger = await served.newAccount();
const suspended = await served.newAccount();
await setSuspended(database, suspended.id, true);
const revoked = await owner.newKey();
await revokeKey(database, revoked.id);
const expired = await owner.newKey({ expiresAt: new Date(Date.now() - 1_000) });
const byScope = new Map(
  await Promise.all(
    SCOPES.map(async (scope) => [scope, (await owner.newKey({ scopes: [scope] })).client.key] as const),
  ),
);

/** Invalid keys, all of which get the same response. */
const UNUSABLE: readonly (readonly [string, string | undefined])[] = [
  ['no key', undefined],
  ['garbage', 'garbage'],
  ['an unknown key', newApiKey().secret],
  ['an expired key', expired.client.key],
  ['a revoked key', revoked.client.key],
];

/**
 * Responses to an unknown id other than the usual one: these routes report other accounts' ids as unknown in their
 * own way.
 */
const ANSWERS_FOR_UNKNOWN_IDS: Readonly<Record<string, (answer: RawAnswer, id: string) => void>> = {
  deleteStoredOutput(answer, id) {
    const { data } = JSON.parse(answer.text) as { data: unknown };
    assert.deepEqual([answer.status, data], [200, { accepted: [], rejected: [{ id, reason: 'not_owned' }] }]);
  },
};

/** An id that does not exist, in the format of the parameter. */
const UNKNOWN_IDS: Readonly<Record<string, () => string>> = {
  taskId: newTaskId,
  videoId: newTaskId,
  outputId: () => newId('out'),
  fileId: () => newId('file'),
  uploadId: () => newId('upload'),
  batchId: () => newId('batch'),
  keyId: () => randomBase62(10),
  tokenId: () => `tok_${randomBase62(10)}`,
  responseId: () => newTextCallId('responses'),
};

function codeOf(answer: RawAnswer): string {
  return `${answer.status} ${errorCode(answer.text)}`;
}

/** Sends a request for something that exists, with the given key. */
async function askAs(route: Route, key: string | undefined): Promise<RawAnswer> {
  return send(served.url, route, await requestOf(route, world, owner), key);
}

for (const route of publicRoutes(served.http)) {
  const { access, operationId } = route;
  describe(`${operationId} (${access})`, () => {
    if (access === 'none') {
      it('is public, with any key or none', async () => {
        for (const key of [...UNUSABLE.map(([, each]) => each), stranger.client.key]) {
          const answer = await askAs(route, key);
          assert.ok(answer.status < 300, answer.text.slice(0, 300));
        }
      });
      return;
    }

    // Proves S4.4-7, C1-7, C1-8.
    it('is denied with the same 401 without a valid key', async () => {
      const answers = [];
      for (const [what, key] of UNUSABLE) {
        const answer = await askAs(route, key);
        assert.equal(codeOf(answer), `401 ${unauthorizedCode(route)}`, what);
        assert.equal(answer.headers['x-ratelimit-limit'], undefined, what);
        answers.push(answer.text);
      }
      assert.equal(new Set(answers).size, 1);
    });

    // Proves S7-4, C1-11.
    it('is denied to a suspended account', async () => {
      assert.equal(codeOf(await askAs(route, suspended.client.key)), '403 ACCOUNT_SUSPENDED');
    });

    // Proves S5.2-1, S7-4, C1-10, C7-3, C7-4.
    it('is allowed only to keys with its scope', async () => {
      for (const [scope, key] of byScope) {
        const answer = await askAs(route, key);
        if (access === 'any' || access === scope) {
          assert.ok(answer.status < 300, `${scope}: ${answer.status} ${answer.text.slice(0, 300)}`);
        } else {
          assert.equal(codeOf(answer), '403 FORBIDDEN', scope);
          assert.match(answer.text, new RegExp(access), 'the message names the scope');
        }
      }
    });

    const parameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const own = parameters.filter((name) => name in UNKNOWN_IDS);
    if (own.length > 0) {
      // Proves C1-12.
      it("treats another account's id like an unknown one", async () => {
        for (const name of own) {
          const parts = await requestOf(route, world, owner);
          const theirs = parts.params?.[name] ?? '';
          const unknown = UNKNOWN_IDS[name]?.() ?? '';
          const expectedFor =
            ANSWERS_FOR_UNKNOWN_IDS[operationId] ?? ((answer) => assert.equal(codeOf(answer), '404 NOT_FOUND'));
          const texts = [];
          for (const id of [theirs, unknown]) {
            const answer = await send(
              served.url,
              route,
              { ...parts, params: { ...parts.params, [name]: id } },
              stranger.client.key,
            );
            expectedFor(answer, id);
            texts.push(answer.text.replaceAll(id, '<id>'));
          }
          assert.equal(texts[0], texts[1]);
          const answer = await send(served.url, route, parts, owner.client.key);
          assert.ok(answer.status < 300, `the owner is not served after that: ${answer.text.slice(0, 300)}`);
        }
      });
    }
  });
}

describe('the matrix', () => {
  it('has an unknown id for every parameter that names something of an account', () => {
    const others = new Set(['modelName', 'token', 'name', 'fileName', 'upstream']);
    const names = publicRoutes(served.http).flatMap(({ path }) =>
      [...path.matchAll(/\{(\w+)/g)].map(([, name = '']) => name),
    );
    assert.deepEqual(
      [...new Set(names)].filter((name) => !others.has(name) && !(name in UNKNOWN_IDS)),
      [],
    );
  });

  // Proves C7-3.
  it('has a route for every scope except those reserved for later', () => {
    const used = new Set<string>(publicRoutes(served.http).map(({ access }) => access));
    assert.deepEqual(
      SCOPES.filter((scope) => !used.has(scope)),
      ['dashboard'],
    );
  });
});

describe('ids in bodies and filters', () => {
  const other = async (operationId: string): Promise<{ answer: RawAnswer; body: unknown }> => {
    const route = publicRoutes(served.http).find((each) => each.operationId === operationId);
    assert.ok(route);
    const parts = await requestOf(route, world, owner);
    return { answer: await send(served.url, route, parts, stranger.client.key), body: parts.body };
  };

  // Proves C5-6.
  it("of another account's outputs have no effect in promote and delete, with the response for unknown ids", async () => {
    for (const operationId of ['promoteStoredOutputs', 'deleteStoredOutputs', 'deleteStoredOutputsByPost']) {
      const { answer, body } = await other(operationId);
      const { data } = JSON.parse(answer.text) as {
        data: { accepted: string[]; rejected: { id: string; reason: string }[] };
      };
      assert.deepEqual(data.accepted, [], operationId);
      assert.deepEqual(
        data.rejected,
        (body as string[]).map((id) => ({ id, reason: 'not_owned' })),
        operationId,
      );
    }
  });

  it('of another account return nothing in lists, whether filtered by or not', async () => {
    const alone = await served.newAccount({ microUsd: 0n });
    const tasks = await owner.client.send('GET', '/v1/tasks?size=1');
    const [task] = (tasks.body.data as unknown as { tasks: { taskId: string; keyId: string }[] }).tasks;
    assert.ok(task);
    const paths: [string, string][] = [
      ['/v1/tasks', 'tasks'],
      [`/v1/tasks?ids=${task.taskId}`, 'tasks'],
      [`/v1/tasks?keyId=${task.keyId}`, 'tasks'],
      ['/v1/tasks?metadata.project=north', 'tasks'],
      ['/v1/storages?status=available', 'items'],
      [`/v1/storages?taskId=${task.taskId}`, 'items'],
      ['/v1/account/ledger', 'entries'],
      [`/v1/account/ledger?reference=${task.taskId}`, 'entries'],
      ['/v1/account/usage', 'rows'],
      ['/v1/account/callbacks', 'attempts'],
    ];
    for (const [path, member] of paths) {
      const { status, body } = await alone.client.send('GET', path);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual((body.data as unknown as Record<string, unknown>)[member], [], path);
    }
    const { body } = await alone.client.send('GET', '/v1/account/keys');
    assert.equal((body.data as unknown as { keys: unknown[] }).keys.length, 1);
  });
});
