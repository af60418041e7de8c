/**
 * Creates that arrive together share a statement: each still gets its own task, its own rejection and its own
 * response.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ModelUnavailableError } from '../../src/catalogue/catalogue.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { newId } from '../../src/domain/ids.ts';
import { InsufficientBalanceError } from '../../src/billing/ledger.ts';
import { IdempotencyMismatchError } from '../../src/tasks/create/used-keys.ts';
import { InvalidTaskError } from '../../src/tasks/create/create.ts';
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

describe('many different concurrent creates', () => {
  it('each return the requested task, of the right account', async () => {
    const callers = await Promise.all(Array.from({ length: 3 }, () => room.newCaller()));
    const wanted = Array.from({ length: 90 }, (_, index) => {
      const caller = callers[index % callers.length] ?? assert.fail();
      const sent = body({
        model: index % 4 === 0 ? 'acme/routed@fast' : 'acme/images',
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
        `SELECT t.account_id, t.key_id, t.idempotency_key, t.model, t.route, t.input, t.metadata, t.storage,
                t.timeout_seconds, c.url,
                (SELECT count(*)::int FROM outbox o WHERE o.subject_id = t.id AND o.account_id = t.account_id) AS starts,
                (SELECT amount_micro_usd FROM ledger_entries e WHERE e.kind = 'hold' AND e.reference = t.id
                    AND e.account_id = t.account_id) AS hold
           FROM tasks t LEFT JOIN callbacks c ON c.task_id = t.id WHERE t.id = $1`,
        answers[index]?.taskId,
      );
      assert.deepEqual(row, {
        account_id: caller.accountId,
        key_id: caller.keyId,
        idempotency_key: key ?? null,
        model: sent['model'],
        route: index % 4 === 0 ? 'fast' : null,
        input: sent['input'],
        metadata: sent['metadata'] ?? null,
        storage: sent['storage'] ?? 'temp',
        timeout_seconds: sent['timeoutSeconds'] ?? null,
        url: (sent['callback'] as { url: string } | undefined)?.url ?? null,
        starts: 1,
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
