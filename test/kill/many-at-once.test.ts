/**
 * kill -9 of the api, and an immediate stop of PostgreSQL, while it creates many tasks in one request or receives a file
 * in parts. A client that repeats its request gets one result, and pays once.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { WireTaskBatchResult } from '@darkroom/api/tasks/create-batch';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { letPass } from '../support/let-pass.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { partForm } from '../http/route-requests.ts';
import { startKillableServices } from './killable-services.ts';
import type { KillableServices } from './killable-services.ts';

const TASKS = 400;
/** When a kill comes, in milliseconds after the request: before, in and after its transaction. */
const MOMENTS = [15, 60, 120, 200, 300, 450];
const PARTS = 6;
const PART_BYTES = 4_000_000;

interface State {
  readonly tasks: number;
  readonly starts: number;
  readonly held: bigint;
  readonly sum: bigint;
}

describe('kill -9 while much arrives at once', () => {
  let services: KillableServices;
  let darkroom: Darkroom;
  let api: Role;
  before(async () => {
    services = await startKillableServices();
    // Without a worker the tasks stay queued: what was accepted can be counted.
    darkroom = await startDarkroom({
      databaseServer: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      workers: 0,
      isSupervised: true,
    });
    api = darkroom.apis[0] ?? assert.fail();
  });
  after(async () => {
    await darkroom?.stop();
    await services?.stop();
  });

  /** How many requests were sent again. */
  let repeated = 0;

  /** Sends a request until it has a response that is not of a service in trouble. */
  async function insist(send: () => Promise<Response>): Promise<unknown> {
    const deadline = Date.now() + GIVE_UP_MS;
    for (let attempt = 1; ; attempt++) {
      if (attempt === 2) repeated += 1;
      const response = await send().catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.status === 200 && text !== undefined) return JSON.parse(text);
      assert.ok(response === undefined || response.status >= 500 || text === undefined, `${response?.status} ${text}`);
      if (Date.now() > deadline) throw new Error('no answer');
      await letPass(100);
    }
  }

  function post(
    { client }: TestAccount,
    path: string,
    body: string | Buffer,
    type = 'application/json',
  ): Promise<Response> {
    const headers = { Authorization: `Bearer ${client.key}`, 'Content-Type': type };
    return fetch(`${darkroom.url}${path}`, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });
  }

  async function stateOf({ id }: TestAccount): Promise<State> {
    const [row] = await darkroom.testDatabase.database.query<State>(
      {
        name: 'test_state_of_account',
        text: `SELECT (SELECT count(*)::integer FROM tasks WHERE account_id = $1) AS tasks,
                      (SELECT count(*)::integer FROM task_events e JOIN tasks t ON t.id = e.task_id
                        WHERE t.account_id = $1 AND e.type = 'accepted') AS starts,
                      (SELECT sum(held_micro_usd)::bigint FROM tasks WHERE account_id = $1) AS sum,
                      held_micro_usd AS held
                 FROM account_counters WHERE account_id = $1`,
      },
      [id],
    );
    return row ?? assert.fail();
  }

  async function createInOneRequest(interrupt: () => Promise<void>): Promise<void> {
    const account = await darkroom.createAccount({ usd: 1_000_000_000n });
    const tasks = Array.from({ length: TASKS }, (_, index) => ({
      model: 'darkroom/scene',
      input: { prompt: `a lake, number ${index}` },
      idempotencyKey: `item-${index}`,
    }));
    const creating = insist(() => post(account, '/v1/tasks:batch', JSON.stringify({ tasks })));
    await interrupt();

    const { results } = ((await creating) as { data: WireTaskBatchResult }).data;

    assert.equal(new Set(results.map(({ taskId }) => taskId)).size, TASKS);
    const { tasks: count, starts, held, sum } = await stateOf(account);
    assert.deepEqual([count, starts, held], [TASKS, TASKS, sum]);
  }

  it('creates each task of a request once when the api is killed', async (t) => {
    repeated = 0;
    for (const moment of MOMENTS) {
      await createInOneRequest(async () => {
        await letPass(moment);
        await api.kill();
        await api.start();
      });
    }
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    t.diagnostic(`${repeated} requests were interrupted`);
    assert.ok(repeated > 0);
  });

  it('creates each task of a request once when PostgreSQL is stopped', async (t) => {
    repeated = 0;
    for (const moment of [60, 200]) {
      await createInOneRequest(async () => {
        await letPass(moment);
        await services.postgres.kill();
        await services.postgres.start();
      });
    }
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    t.diagnostic(`${repeated} requests were interrupted`);
    assert.ok(repeated > 0);
  });

  it('receives a file once when the api is killed while parts arrive and while they are joined', async (t) => {
    repeated = 0;
    const account = await darkroom.createAccount();
    for (const moment of [10, 60, 150]) {
      const pieces = Array.from({ length: PARTS }, () => randomBytes(PART_BYTES));
      const described = { filename: 'a.bin', purpose: 'user_data', bytes: PARTS * PART_BYTES, mime_type: 'x/y' };
      const upload = (await insist(() => post(account, '/v1/uploads', JSON.stringify(described)))) as { id: string };
      const adding = Promise.all(
        pieces.map(async (piece) => {
          const { headers, body } = await partForm(piece);
          const path = `/v1/uploads/${upload.id}/parts`;
          return insist(() => post(account, path, body, headers['Content-Type'])) as Promise<{ id: string }>;
        }),
      );
      await letPass(moment);
      await api.kill();
      await api.start();
      const parts = await adding;
      const md5 = pieces.reduce((hash, piece) => hash.update(piece), createHash('md5')).digest('hex');
      const completion = JSON.stringify({ part_ids: parts.map(({ id }) => id), md5 });
      const completing = insist(() => post(account, `/v1/uploads/${upload.id}/complete`, completion));
      await letPass(moment);
      await api.kill();
      await api.start();

      const { file } = (await completing) as { file: { id: string; bytes: number } };

      assert.equal(file.bytes, PARTS * PART_BYTES);
      const kept = await darkroom.testDatabase.database.query<{ id: string }>(
        {
          name: 'test_kept_files',
          text: `SELECT id FROM files WHERE account_id = $1 AND gone_at IS NULL AND sha256 = $2`,
        },
        [account.id, createHash('sha256').update(Buffer.concat(pieces)).digest('hex')],
      );
      assert.deepEqual(kept, [{ id: file.id }]);
      await waitFor('no part is left', async () => {
        const left = await darkroom.testDatabase.database.query(
          { name: 'test_parts', text: 'SELECT id FROM files WHERE upload_id = $1 AND gone_at IS NULL' },
          [upload.id],
        );
        return left.length === 0;
      });
    }
    t.diagnostic(`${repeated} requests were interrupted`);
    assert.ok(repeated > 0);
  });
});
