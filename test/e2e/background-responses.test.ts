/** Responses in the background with a real Temporal, PostgreSQL, two apis and a worker. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { BackgroundClient, LONG_ANSWER, SLOW_MODEL } from './background-client.ts';

const selectCalls = {
  name: 'test_background_ledger',
  text: `SELECT reference AS id, array_agg(kind ORDER BY id) AS kinds FROM ledger_entries
          WHERE account_id = $1 AND reference LIKE 'resp_%' GROUP BY reference`,
};

describe('responses in the background', () => {
  let darkroom: Darkroom;
  let modelsDir: string;
  let account: TestAccount;
  let client: BackgroundClient;
  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-background-'));
    const slow = textDefinition({
      name: SLOW_MODEL,
      upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
    });
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slow));
    darkroom = await startDarkroom({ apis: 2, environment: { MODELS_DIR: modelsDir } });
    account = await darkroom.createAccount();
    client = new BackgroundClient(darkroom.urls, account.client.key);
  });
  after(async () => {
    await darkroom?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function entries(of: TestAccount): Promise<ReadonlyMap<string, readonly string[]>> {
    const { database } = darkroom.testDatabase;
    const rows = await database.query<{ id: string; kinds: string[] }>(selectCalls, [of.id]);
    return new Map(rows.map(({ id, kinds }) => [id, kinds]));
  }

  async function assertSettledOnce(id: string, of = account): Promise<void> {
    await waitFor('it is settled', async () => ((await entries(of)).get(id)?.length ?? 0) > 1);
    const kinds = (await entries(of)).get(id) ?? [];
    assert.equal(kinds.filter((kind) => kind === 'hold').length, 1);
    assert.equal(kinds.filter((kind) => kind === 'capture').length, 1);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
  }

  it('are created, polled and cancelled by the official client', async () => {
    const openai = new OpenAI({ apiKey: account.client.key, baseURL: `${darkroom.url}/v1` });
    const created = await openai.responses.create(LONG_ANSWER);
    // It may have begun before the answer was read.
    assert.match(String(created.status), /^(queued|in_progress)$/);
    const seen: unknown[] = [];
    await waitFor('it has ended', async () => {
      const { status } = await openai.responses.retrieve(created.id);
      if (seen.at(-1) !== status) seen.push(status);
      return status !== 'queued' && status !== 'in_progress';
    });
    assert.deepEqual(seen.slice(-2), ['in_progress', 'incomplete']);
    await assertSettledOnce(created.id);

    const second = await openai.responses.create({ ...LONG_ANSWER, max_output_tokens: 1_000 });
    // An attempt is in progress before its money is held, and one that is cancelled then pays nothing.
    await waitFor('its money is held', async () => (await entries(account)).has(second.id));
    assert.equal((await openai.responses.cancel(second.id)).status, 'cancelled');
    assert.equal((await openai.responses.cancel(second.id)).status, 'cancelled');
    await assertSettledOnce(second.id);
  });

  it('are streamed by whichever api is asked', async () => {
    const [, other = ''] = darkroom.urls;
    const openai = new OpenAI({ apiKey: account.client.key, baseURL: `${other}/v1` });
    const stream = await openai.responses.create({ ...LONG_ANSWER, stream: true });
    let id = '';
    const types: string[] = [];
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      types.push(event.type);
    }
    assert.equal(types[1], 'response.queued');
    assert.equal(types.at(-1), 'response.incomplete');
    const events = await new BackgroundClient([darkroom.url], account.client.key).follow(id);
    assert.deepEqual(
      events.map(({ type }) => type),
      types,
    );
    await assertSettledOnce(id);
  });

  it('take turns where an account has room for one', async () => {
    const own = await darkroom.createAccount();
    const { database } = darkroom.testDatabase;
    await database.query(
      { name: 'test_cap', text: 'UPDATE account_counters SET text_streams_cap = 2 WHERE account_id = $1' },
      [own.id],
    );
    const crowded = new BackgroundClient(darkroom.urls, own.client.key);
    const body = { ...LONG_ANSWER, max_output_tokens: 20 };
    const created = await Promise.all([1, 2, 3].map(() => crowded.create(body)));
    for (const { id } of created) await crowded.waitForStatus(id, 'incomplete');
    for (const { id } of created) await assertSettledOnce(id, own);
  });

  it('run many at once without a warning of Node', async () => {
    const created = await Promise.all(Array.from({ length: 30 }, () => client.create(LONG_ANSWER)));
    for (const { id } of created) await client.waitForStatus(id, 'in_progress', 'incomplete');
    for (const { id } of created) await client.cancel(id);

    const log = await readFile(darkroom.logFile, 'utf8');
    assert.doesNotMatch(log, /MaxListenersExceededWarning/);
  });

  it('go on elsewhere when their api stops', async () => {
    const ids = await Promise.all(
      Array.from(
        { length: 6 },
        async (_, index) => (await client.create({ ...LONG_ANSWER, metadata: { n: `${index}` } })).id,
      ),
    );
    for (const id of ids) await client.waitForStatus(id, 'in_progress', 'incomplete');
    const [first] = darkroom.apis;
    assert.equal(await first?.kill('SIGTERM'), 0);
    for (const id of ids) await client.waitForStatus(id, 'incomplete');
    await first?.start();
    for (const id of ids) await assertSettledOnce(id);
  });
});
