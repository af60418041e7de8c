/**
 * Accepting: one task and one hold per key, whatever arrives at once, and nothing at all if it is rejected. Creates that
 * arrive together share a statement: each still gets its own task, its own rejection and its own response.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { InsufficientBalanceError, topUp } from '../../src/billing/ledger.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { ModelUnavailableError } from '../../src/catalogue/catalogue.ts';
import { newId } from '../../src/domain/ids.ts';
import { QueueFullError } from '../../src/tasks/create/accept.ts';
import { InvalidTaskError } from '../../src/tasks/create/create.ts';
import { IdempotencyMismatchError } from '../../src/tasks/create/used-keys.ts';
import type { Acceptance } from '../../src/tasks/create/accept.ts';
import { PRICE, body, openTaskRoom } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

/** Sends the same request many times at once. */
async function createAtOnce(caller: Caller, times: number, key = newId('req')): Promise<readonly Acceptance[]> {
  return Promise.all(Array.from({ length: times }, () => room.creator.create(caller, body(), key)));
}

/** How many rows the account has in each table that a create writes to. */
async function rowsOf(caller: Caller): Promise<Record<string, unknown> | undefined> {
  const [row] = await room.rows(
    `SELECT (SELECT count(*)::int FROM tasks WHERE account_id = $1) AS tasks,
            (SELECT count(*)::int FROM ledger_entries WHERE account_id = $1 AND kind = 'hold') AS holds,
            (SELECT count(*)::int FROM outbox WHERE account_id = $1) AS outbox,
            (SELECT count(*)::int FROM callbacks WHERE account_id = $1) AS callbacks,
            (SELECT count(*)::int FROM task_events e JOIN tasks t ON t.id = e.task_id WHERE t.account_id = $1) AS events`,
    caller.accountId,
  );
  return row;
}

const NOTHING = { tasks: 0, holds: 0, outbox: 0, callbacks: 0, events: 0 };
const ONE = { tasks: 1, holds: 1, outbox: 1, callbacks: 0, events: 1 };

describe('64 creates at once with one Idempotency-Key', () => {
  // Proves S4.1-2, C1-14.
  it('return one task, one hold and 63 replays of it', async () => {
    const caller = await room.newCaller();

    const answers = await createAtOnce(caller, 64);

    assert.equal(new Set(answers.map((answer) => answer.taskId)).size, 1);
    assert.equal(answers.filter((answer) => answer.isReplay).length, 63);
    assert.deepEqual(await rowsOf(caller), ONE);
    const account = await room.account(caller);
    assert.equal(account.heldMicroUsd, PRICE);
    assert.equal(account.queued, 1);
  });

  // Proves C2-22.
  it('return one task and 63 replays when the balance covers exactly one', async () => {
    const caller = await room.newCaller({ microUsd: PRICE });

    const answers = await createAtOnce(caller, 64);

    assert.equal(answers.filter((answer) => answer.isReplay).length, 63);
    assert.deepEqual(await rowsOf(caller), ONE);
    assert.equal((await room.account(caller)).availableMicroUsd, 0n);
  });

  // Proves C2-22.
  it('return one task and 63 replays when the queue has room for exactly one', async () => {
    const caller = await room.newCaller({ runningCap: 1, queueCap: 0 });

    const answers = await createAtOnce(caller, 64);

    assert.equal(answers.filter((answer) => answer.isReplay).length, 63);
    assert.deepEqual(await rowsOf(caller), ONE);
  });

  it('are all rejected with both amounts when the balance is too low, and the key works after a top-up', async () => {
    const caller = await room.newCaller({ microUsd: PRICE - 1n });
    const key = newId('req');

    const rejected = await Promise.allSettled(
      Array.from({ length: 64 }, () => room.creator.create(caller, body(), key)),
    );

    for (const answer of rejected) {
      assert.ok(answer.status === 'rejected' && answer.reason instanceof InsufficientBalanceError);
      assert.equal(answer.reason.availableMicroUsd, PRICE - 1n);
      assert.equal(answer.reason.neededMicroUsd, PRICE);
    }
    assert.deepEqual(await rowsOf(caller), NOTHING);

    await topUp(room.database, caller.accountId, 1n, newId('topup'));
    const answers = await createAtOnce(caller, 64, key);
    assert.equal(answers.filter((answer) => answer.isReplay).length, 63);
    assert.deepEqual(await rowsOf(caller), ONE);
  });

  it('of two bodies return one task, and the other body is rejected', async () => {
    const caller = await room.newCaller();
    const key = newId('req');

    const answers = await Promise.allSettled(
      Array.from({ length: 64 }, (_, index) =>
        room.creator.create(caller, body({ input: { prompt: index % 2 === 0 ? 'a fox' : 'a hare' } }), key),
      ),
    );

    const rejected = answers.filter((answer) => answer.status === 'rejected');
    assert.equal(rejected.length, 32);
    for (const { reason } of rejected) assert.ok(reason instanceof IdempotencyMismatchError);
    assert.deepEqual(await rowsOf(caller), ONE);
  });
});

describe('a partly lost task', () => {
  it('is not reported as a full queue when its key is repeated', async () => {
    // A task room of its own: its ledger is inconsistent afterwards.
    const damaged = await openTaskRoom();
    const caller = await damaged.newCaller();
    const key = newId('req');
    const { taskId } = await damaged.creator.create(caller, body(), key);
    await damaged.database.transaction(async (transaction) => {
      await transaction.query({ name: 'no_checks', text: 'SET LOCAL session_replication_role = replica' }, []);
      await transaction.query({ name: 'delete_task', text: 'DELETE FROM tasks WHERE id = $1' }, [taskId]);
    });

    await assert.rejects(damaged.creator.create(caller, body(), key), {
      message: `${taskId} is no task, and rows of it are there: see \`ledger verify\``,
    });
    await damaged.close();
  });
});

describe('creates without a key', () => {
  // Proves C7-34.
  it('create a task each, as many as the balance covers', async () => {
    const caller = await room.newCaller({ microUsd: 5n * PRICE });

    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, () => room.creator.create(caller, body(), undefined)),
    );

    assert.equal(answers.filter((answer) => answer.status === 'fulfilled').length, 5);
    for (const answer of answers) {
      if (answer.status === 'rejected') assert.ok(answer.reason instanceof InsufficientBalanceError);
    }
    const account = await room.account(caller);
    assert.equal(account.availableMicroUsd, 0n);
    assert.equal(account.heldMicroUsd, 5n * PRICE);
  });

  // Proves C7-14.
  it('are rejected beyond the queue limit', async () => {
    const caller = await room.newCaller({ runningCap: 2, queueCap: 3 });

    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () => room.creator.create(caller, body(), undefined)),
    );

    assert.equal(answers.filter((answer) => answer.status === 'fulfilled').length, 5);
    for (const answer of answers) {
      if (answer.status === 'rejected') {
        assert.ok(answer.reason instanceof QueueFullError);
        assert.equal(answer.reason.queueCap, 3);
      }
    }
    assert.equal((await room.account(caller)).heldMicroUsd, 5n * PRICE);
  });

  it('of a free model hold nothing, and still write their one entry', async () => {
    const caller = await room.newCaller({ microUsd: 0n });

    const { taskId } = await room.creator.create(caller, body({ model: 'acme/free' }), undefined);

    const entries = await room.rows('SELECT kind, amount_micro_usd FROM ledger_entries WHERE reference = $1', taskId);
    assert.deepEqual(entries, [{ kind: 'hold', amount_micro_usd: 0n }]);
  });
});

describe('a replay', () => {
  it('finds the task whatever the order of the fields and the spelling of the default route', async () => {
    const caller = await room.newCaller();
    const key = newId('req');
    const sent = { model: 'acme/images', input: { prompt: 'a fox', resolution: '1k' }, metadata: { a: '1', b: '2' } };
    const first = await room.creator.create(caller, sent, key);

    const turned = {
      metadata: { b: '2', a: '1' },
      input: { resolution: '1k', prompt: 'a fox' },
      model: 'acme/images',
    };
    for (const same of [turned, { ...sent, route: '' }, { ...sent, route: 'default' }]) {
      assert.deepEqual(await room.creator.create(caller, same, key), { taskId: first.taskId, isReplay: true });
    }
  });

  // Proves C2-19.
  it('is a mismatch when anything else differs, including an explicit default or null', async () => {
    const caller = await room.newCaller();
    const key = newId('req');
    await room.creator.create(caller, body(), key);

    const others = [{ storage: 'temp' }, { callback: null }, { route: null }, { route: 'fast' }, { metadata: {} }];
    for (const changes of [...others, { input: { prompt: 'a fox', resolution: '1k' } }, { model: 'acme/nowhere' }]) {
      await assert.rejects(room.creator.create(caller, body(changes), key), IdempotencyMismatchError);
    }
  });

  // Proves C2-25.
  it('returns its task although balance, queue and catalogue would now reject it, and with another key of the account', async () => {
    const caller = await room.newCaller({ microUsd: PRICE, runningCap: 1, queueCap: 0 });
    const key = newId('req');
    const { taskId } = await room.creator.create(caller, body(), key);
    await room.rows('UPDATE account_counters SET running_cap = 0 WHERE account_id = $1', caller.accountId);

    const rotated: Caller = { ...caller, keyId: 'another', models: new Set() };
    assert.deepEqual(await room.creator.create(rotated, body(), key), { taskId, isReplay: true });
  });

  // Proves S4.1-2, C2-18.
  it('is per account: the same key of another account creates another task', async () => {
    const [one, other] = [await room.newCaller(), await room.newCaller()];
    const key = newId('req');

    const first = await room.creator.create(one, body(), key);
    const second = await room.creator.create(other, body(), key);

    assert.equal(second.isReplay, false);
    assert.notEqual(second.taskId, first.taskId);
  });

  // Proves C2-23.
  it('does not exist after a rejected request: the key is still free', async () => {
    const caller = await room.newCaller();
    const key = newId('req');

    for (const wrong of [
      body({ size: 1 }),
      body({ model: 'acme/nowhere' }),
      body({ input: {} }),
      body({ maxCost: '0' }),
    ]) {
      await assert.rejects(room.creator.create(caller, wrong, key));
    }
    assert.equal((await room.creator.create(caller, body(), key)).isReplay, false);
  });
});

describe('the round trips of a request', () => {
  // Proves C2-16.
  it('are at most two for a create with a key, whether it creates the task or replays it, and one without', async () => {
    const caller = await room.newCaller();
    const key = newId('req');
    const sent = body({ callback: { url: 'https://example.com/hook' } });

    for (const [used, most] of [
      [key, 2],
      [key, 2],
      [undefined, 1],
    ] as const) {
      room.forgetStatements();
      await room.creator.create(caller, sent, used);
      const { length } = room.statements;
      assert.ok(length > 0 && length <= most, room.statements.join());
    }
  });

  it('are none when the request is rejected before it reaches the database', async () => {
    const caller = await room.newCaller();

    room.forgetStatements();
    await assert.rejects(room.creator.create(caller, body({ size: 1 }), undefined));
    assert.deepEqual(room.statements, []);
  });
});

describe('many different concurrent creates', () => {
  /** Both spellings of a route. */
  const ROUTED = [{ model: 'acme/routed@fast' }, { model: 'acme/routed', route: 'fast' }] as const;

  it('each return the requested task, of the right account, with its callback waiting and a start that is not ready', async () => {
    const callers = await Promise.all(Array.from({ length: 3 }, () => room.newCaller()));
    const wanted = Array.from({ length: 90 }, (_, index) => {
      const caller = callers[index % callers.length] ?? assert.fail();
      const sent = body({
        ...(index % 4 === 0 ? ROUTED[(index / 4) % 2] : {}),
        input: { prompt: `{"${index}",\\ NULL 'quoted' \n ünï 🦊}` },
        ...(index % 2 === 0 ? {} : { metadata: { index: `${index}`, edge: '{},"\\' } }),
        ...(index % 3 === 0 ? { callback: { url: `https://example.com/${index}` } } : {}),
        ...(index % 5 === 0 ? { timeoutSeconds: index + 1, storage: 'persistent' } : {}),
      });
      return { caller, sent, key: index % 2 === 0 ? `key-${index}` : undefined };
    });

    const answers = await Promise.all(wanted.map(({ caller, sent, key }) => room.creator.create(caller, sent, key)));

    assert.equal(new Set(answers.map((answer) => answer.taskId)).size, 90);
    for (const [index, { caller, sent, key }] of wanted.entries()) {
      const [row] = await room.rows(
        `SELECT t.account_id, t.key_id, t.idempotency_key, t.status, t.model, t.route, t.input, t.metadata, t.storage,
                t.timeout_seconds, extract(epoch FROM t.queue_deadline_at - t.created_at)::int AS queued_seconds,
                c.url, c.state, c.attempts,
                (SELECT jsonb_agg(jsonb_build_array(o.account_id, o.kind, o.is_ready)) FROM outbox o
                  WHERE o.subject_id = t.id) AS outbox,
                (SELECT amount_micro_usd FROM ledger_entries e WHERE e.kind = 'hold' AND e.reference = t.id
                    AND e.account_id = t.account_id) AS hold
           FROM tasks t LEFT JOIN callbacks c ON c.task_id = t.id WHERE t.id = $1`,
        answers[index]?.taskId,
      );
      const callback = sent['callback'] as { url: string } | undefined;
      assert.deepEqual(row, {
        account_id: caller.accountId,
        key_id: caller.keyId,
        idempotency_key: key ?? null,
        status: 'queued',
        model: index % 4 === 0 ? 'acme/routed@fast' : 'acme/images',
        route: index % 4 === 0 ? 'fast' : null,
        input: sent['input'],
        metadata: sent['metadata'] ?? null,
        storage: sent['storage'] ?? 'temp',
        timeout_seconds: sent['timeoutSeconds'] ?? null,
        queued_seconds: 3600,
        url: callback?.url ?? null,
        state: callback === undefined ? null : 'waiting',
        attempts: callback === undefined ? null : 0,
        outbox: [[caller.accountId, 'start_task', false]],
        hold: PRICE,
      });
    }
  });

  it('are rejected or replayed individually, without errors of their neighbours', async () => {
    const caller = await room.newCaller({ microUsd: 21n * PRICE });
    const used = newId('req');
    const { taskId } = await room.creator.create(caller, body(), used);

    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => {
        if (index % 5 === 0) return room.creator.create(caller, body(), used);
        if (index % 5 === 1) return room.creator.create(caller, body({ storage: 'temp' }), used);
        if (index % 5 === 2) return room.creator.create(caller, body({ input: { prompt: '\0' } }), undefined);
        if (index % 5 === 3) return room.creator.create(caller, body({ model: 'acme/none' }), undefined);
        return room.creator.create(caller, body({ input: { prompt: `fox ${index}` } }), `fresh-${index}`);
      }),
    );

    for (const [index, outcome] of outcomes.entries()) {
      const wrong = [undefined, IdempotencyMismatchError, InvalidTaskError, ModelUnavailableError, undefined][
        index % 5
      ];
      if (wrong !== undefined) {
        assert.ok(outcome.status === 'rejected' && outcome.reason instanceof wrong, String(index));
      } else {
        assert.ok(outcome.status === 'fulfilled', String(index));
        assert.equal(outcome.value.isReplay, index % 5 === 0);
        assert.equal(outcome.value.taskId === taskId, index % 5 === 0);
      }
    }
    assert.equal((await room.account(caller)).heldMicroUsd, 11n * PRICE);
  });

  it('of different prices are accepted as far as the balance allows, to the micro', async () => {
    const caller = await room.newCaller({ microUsd: 60_000n });

    const outcomes = await Promise.allSettled(
      Array.from({ length: 24 }, (_, index) =>
        room.creator.create(
          caller,
          body({ input: { prompt: 'a fox', resolution: index % 2 === 0 ? '1k' : '2k' } }),
          `price-${index}`,
        ),
      ),
    );

    const { availableMicroUsd, heldMicroUsd } = await room.account(caller);
    assert.equal(availableMicroUsd + heldMicroUsd, 60_000n);
    // One more cheap task would have fitted, had 10,000 been left.
    assert.ok(availableMicroUsd < PRICE, String(availableMicroUsd));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof InsufficientBalanceError);
    }
  });
});
