/** What an api claims of the text calls in the background, and how it makes them. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createGate } from '../support/held-answers.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { startBackgroundRunner } from '../../src/processes/runners.ts';
import { beginAttempt, claimDueCalls, releaseAttempt } from '../../src/text/background/call-record.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { BackgroundRoom } from '../http/background-room.ts';
import { serveApp } from '../http/serve.ts';
import type { ServedAccount, ServedApp } from '../http/serve.ts';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';
import { openaiUpstream } from '../text/upstream/upstream-bench.ts';

const QUESTION = { model: 'acme/queued', input: 'Hello?' };
const OTHER_PROCESS = '00000000-0000-4000-8000-000000000000';
const LONG_MS = 900_000;

let upstream: TestUpstream;
let served: ServedApp;
let room: BackgroundRoom;
before(async () => {
  upstream = await startTestUpstream();
  const model = textDefinition({ name: 'acme/queued', upstreams: [openaiUpstream(upstream.baseUrl, { id: 'one' })] });
  served = await serveApp({ models: [model] });
});
after(async () => {
  await served?.close();
  await upstream?.close();
});
beforeEach(async () => {
  await served.room.rows('DELETE FROM background_calls');
  room = new BackgroundRoom(served);
});

async function accept(account: ServedAccount, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let call = 0; call < count; call++) ids.push(await room.accept(account, QUESTION));
  return ids;
}

const own = () => room.context.ledger.processId;
const claim = async (limit: number, without: { rows?: string[]; accounts?: string[] } = {}) =>
  (await claimDueCalls(served.room.database, own(), { rows: [], accounts: [], ...without }, limit)).map(({ id }) => id);

describe('a claim of text calls in the background', () => {
  it('takes first the oldest of the accounts that have the fewest running', async () => {
    const [busy, idle] = [await served.newAccount(), await served.newAccount()];
    const [first = '', ...more] = await accept(busy, 4);
    const others = await accept(idle, 2);
    await beginAttempt(served.room.database, first, own());

    // What was claimed may be due again before the next claim, on a slow machine.
    const rows = [first];
    const claimNext = async (limit: number): Promise<readonly string[]> => {
      const claimed = await claim(limit, { rows });
      rows.push(...claimed);
      return claimed;
    };
    assert.deepEqual(await claimNext(1), [others[0]]);
    assert.deepEqual(new Set(await claimNext(2)), new Set([more[0], others[1]]));
    assert.deepEqual(new Set(await claimNext(10)), new Set(more.slice(1)));
    assert.deepEqual(await claimNext(10), []);
  });

  it('takes the lines of batches of an account after its responses', async () => {
    const account = await served.newAccount();
    const [line = '', response = ''] = await accept(account, 2);
    await served.room.rows(
      `UPDATE background_calls SET batch_id = 'batch_1', line = 0, line_begin = 0, request = NULL WHERE id = $1`,
      line,
    );
    assert.deepEqual(await claim(1), [response]);
    assert.deepEqual(await claim(1, { rows: [response] }), [line]);
  });

  it('leaves out accounts that are to have no more, and calls that are not admitted', async () => {
    const [one, two] = [await served.newAccount({ textStreamsCap: 4 }), await served.newAccount()];
    const ids = await accept(one, 3);
    await accept(two, 1);
    assert.deepEqual(new Set(await claim(10, { accounts: [two.id] })), new Set(ids.slice(0, 2)));
  });

  it('takes a call again that has not begun, soon, and one that waits, when it is due', async () => {
    const [id = ''] = await accept(await served.newAccount(), 1);
    assert.deepEqual(await claim(1), [id]);
    await waitFor('it is due again', async () => (await claim(1)).length === 1);

    const call = (await beginAttempt(served.room.database, id, own())) ?? assert.fail();
    await releaseAttempt(served.room.database, call, { dueInMs: LONG_MS });
    assert.deepEqual(await claim(1), []);
    await served.room.rows(`UPDATE background_calls SET due_at = due_at - interval '15 min' WHERE id = $1`, id);
    assert.deepEqual(await claim(1), [id]);
  });

  it('takes the call of a process that has died, and not of one that is alive', async () => {
    const [id = ''] = await accept(await served.newAccount(), 1);
    await served.room.rows(
      `INSERT INTO text_processes (id, leased_until) VALUES ($1, now() + interval '1 min')
       ON CONFLICT (id) DO UPDATE SET leased_until = excluded.leased_until`,
      OTHER_PROCESS,
    );
    await beginAttempt(served.room.database, id, OTHER_PROCESS);
    await room.lose(id);
    await served.room.rows('UPDATE background_calls SET process_id = $1', OTHER_PROCESS);
    assert.deepEqual(await claim(1), []);

    await served.room.rows('UPDATE text_processes SET leased_until = now() WHERE id = $1', OTHER_PROCESS);
    assert.deepEqual(await claim(1), [id]);
  });
});

describe('the runner of text calls in the background', () => {
  it('answers what is due, also what nothing wakes it for', async () => {
    upstream.script({});
    const account = await served.newAccount();
    const ids = await accept(account, 12);
    const runner = startBackgroundRunner(room.context, LONG_MS);
    try {
      await waitFor('all are answered', async () =>
        (await Promise.all(ids.map((id) => room.row(id)))).every((row) => row?.state === 'answered'),
      );
      const [late = ''] = await accept(account, 1);
      await waitFor('another is answered', async () => (await room.row(late))?.state === 'answered');
    } finally {
      await runner.close();
    }
  });

  it('leaves as many slots free as an account has', async () => {
    const gate = createGate();
    upstream.script({ pace: () => gate.opened });
    const requests = upstream.requests.length;
    const many = await served.newAccount({ textStreamsCap: 200 });
    await accept(many, 100);
    const runner = startBackgroundRunner(room.context, LONG_MS);
    try {
      await waitFor('half of them are sent', () => upstream.requests.length === requests + 50);
      const [other = ''] = await accept(await served.newAccount(), 1);
      await waitFor('that of the other is sent', async () => (await room.row(other))?.isRunning === true);
      await waitFor('it is the only one more', () => upstream.requests.length === requests + 51);
    } finally {
      gate.open();
      await runner.close();
    }
  });

  it('waits for what was sent when it closes, and leaves the rest', async () => {
    const gate = createGate();
    upstream.script({ pace: () => gate.opened });
    const requests = upstream.requests.length;
    const account = await served.newAccount({ textStreamsCap: 4 });
    const [one = '', two = '', three = ''] = await accept(account, 3);
    const runner = startBackgroundRunner(room.context, LONG_MS);
    await waitFor('two are sent', () => upstream.requests.length === requests + 2);
    const closed = runner.close();
    gate.open();
    await closed;

    const states = (await Promise.all([one, two, three].map((id) => room.row(id)))).map((row) => row?.state);
    assert.deepEqual(states, ['answered', 'answered', 'queued']);
    assert.equal(upstream.requests.length, requests + 2);
    assert.deepEqual(await claim(10), [three]);
  });
});
