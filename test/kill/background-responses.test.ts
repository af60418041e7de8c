/**
 * kill -9 of each api, the Temporal server and an immediate stop of PostgreSQL while responses are generated in the
 * background: each has one answer, one hold and one capture, its Idempotency-Key names it, and its stream can be
 * continued.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '@darkroom/testing/wait-for';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { BackgroundClient, LONG_ANSWER, SLOW_MODEL } from '../e2e/background-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { startKillableServices } from './killable-services.ts';
import type { KillableServices } from './killable-services.ts';

/** Half a minute, so that attempts are in progress when their api is killed. */
const ANSWER = { ...LONG_ANSWER, max_output_tokens: 180 };
const PLAIN = 16;
const MEANWHILE = 8;
const STREAMED = 4;

const selectCalls = {
  name: 'test_killed_background_calls',
  text: `SELECT b.id, b.attempts, b.lost_attempts AS lost, t.captured_micro_usd AS captured,
                (SELECT count(*)::integer FROM ledger_entries e WHERE e.reference = b.id AND e.kind = 'hold') AS holds,
                (SELECT count(*)::integer FROM ledger_entries e WHERE e.reference = b.id AND e.kind = 'capture') AS captures
           FROM background_calls b LEFT JOIN text_calls t ON t.id = b.id WHERE b.account_id = $1`,
};

interface CallRow {
  readonly id: string;
  readonly attempts: number;
  readonly lost: number;
  readonly captured: bigint | null;
  readonly holds: number;
  readonly captures: number;
}

describe('kill -9 while responses are generated in the background', () => {
  let services: KillableServices;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let client: BackgroundClient;
  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-background-kill-'));
    const slow = textDefinition({
      name: SLOW_MODEL,
      upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 6 } }],
    });
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(slow));
    services = await startKillableServices();
    darkroom = await startDarkroom({
      databaseServer: services.databaseUrl,
      temporalAddress: services.temporalAddress,
      apis: 2,
      isSupervised: true,
      environment: { MODELS_DIR: modelsDir },
    });
    account = await darkroom.createAccount();
    client = new BackgroundClient(darkroom.urls, account.client.key);
  });
  after(async () => {
    await darkroom?.stop();
    await services?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  it('loses none, charges each once, and continues the streams', async (t) => {
    const [one, two] = darkroom.apis;
    const { database } = darkroom.testDatabase;
    const createKeyed = async (name: string, count: number): Promise<readonly string[]> => {
      const creating = Array.from({ length: count }, (_, index) => client.create(ANSWER, `${name}-${index}`));
      return (await Promise.all(creating)).map(({ id }) => id);
    };
    const ids = await createKeyed('before', PLAIN);
    const streaming = Array.from({ length: STREAMED }, async () => {
      const body = JSON.stringify({ ...ANSWER, stream: true });
      const headers = { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' };
      const response = await fetch(`${darkroom.url}/v1/responses`, { method: 'POST', headers, body });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const first = (await reader?.read())?.value ?? '';
      await reader?.cancel();
      return /"id":"(resp_\w+)"/.exec(first)?.[1] ?? assert.fail(first);
    });
    const streamed = await Promise.all(streaming);
    const followed = streamed.map((id) => client.follow(id));
    for (const id of [...ids, ...streamed]) await client.waitForStatus(id, 'in_progress', 'incomplete');

    // Some of these are accepted by the api that is killed, whose response is lost; the client sends them to the other.
    const creating = createKeyed('meanwhile', MEANWHILE);
    await one?.kill();
    const meanwhile = await creating;
    assert.deepEqual(await createKeyed('before', PLAIN), ids);
    await one?.start();
    await services.temporal.kill();
    await services.temporal.start();
    await services.postgres.kill();
    await services.postgres.start();
    await two?.kill();
    await two?.start();

    for (const id of [...ids, ...meanwhile, ...streamed]) {
      const { status, output } = await client.waitForStatus(id, 'incomplete', 'completed', 'failed');
      assert.equal(status, 'incomplete', id);
      assert.equal(output.length, 1);
    }
    assert.deepEqual(await createKeyed('before', PLAIN), ids);
    assert.deepEqual(await createKeyed('meanwhile', MEANWHILE), meanwhile);
    for (const [index, events] of (await Promise.all(followed)).entries()) {
      assert.deepEqual(
        events.map((event) => event.sequence_number),
        events.map((_, number) => number),
      );
      assert.deepEqual(events.at(-1)?.response, await client.get(streamed[index] ?? ''));
    }
    let calls: readonly CallRow[] = [];
    await waitFor('all are settled', async () => {
      calls = await database.query<CallRow>(selectCalls, [account.id]);
      return calls.every(({ captured }) => captured !== null);
    });
    assert.equal(calls.length, PLAIN + MEANWHILE + STREAMED);
    for (const call of calls) assert.deepEqual([call.holds, call.captures], [1, 1], call.id);
    const lost = calls.reduce((sum, call) => sum + call.lost, 0);
    t.diagnostic(`${calls.reduce((sum, call) => sum + call.attempts, 0)} attempts, ${lost} of them lost`);
    assert.ok(lost > 0);
    assert.deepEqual(await verifyLedger(database), []);
  });
});
