/**
 * An api process that dies, or freezes beyond its lease, with many text calls under way: every hold is settled
 * afterwards, once, and the ledger is consistent.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { createGate } from '../support/held-answers.ts';
import type { Gate } from '../support/held-answers.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { startTestUpstream } from '../text/upstream/test-upstream.ts';
import type { TestUpstream } from '../text/upstream/test-upstream.ts';

const STREAMS = 64;
const MODEL = 'acme/held';
/** How many events come before the rest is held back: the role, and two pieces of text. */
const EVENTS_AT_ONCE = 3;

interface CallRow {
  readonly id: string;
  readonly settled: boolean;
  readonly isEstimated: boolean;
  readonly captured: bigint | null;
  readonly floor: bigint;
  readonly output: number | null;
}

const selectCalls = {
  name: 'test_text_calls',
  text: `SELECT id, settled_at IS NOT NULL AS settled, is_estimated AS "isEstimated", captured_micro_usd AS captured,
                floor_micro_usd AS floor, output_tokens AS output
           FROM text_calls WHERE account_id = $1 AND process_id IS NOT NULL`,
};
const selectHeld = {
  name: 'test_text_held',
  text: 'SELECT held_micro_usd AS held, text_streams AS streams FROM account_counters WHERE account_id = $1',
};

describe('an api process with many open text calls', () => {
  let darkroom: Darkroom;
  let modelsDir: string;
  let upstream: TestUpstream;
  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-text-kill-'));
    upstream = await startTestUpstream();
    const model = textDefinition({
      name: MODEL,
      upstreams: [{ protocol: 'openai', baseUrl: upstream.baseUrl, model: 'held' }],
      // Streams are held back for as long as a test takes.
      limits: { firstByteSeconds: 900, idleSeconds: 900, totalSeconds: 900 },
    });
    await writeFile(path.join(modelsDir, 'held.json'), JSON.stringify(model));
    darkroom = await startDarkroom({ apis: 2, workers: 0, environment: { MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom?.stop();
    await upstream?.close();
    await rm(modelsDir, { recursive: true, force: true });
  });

  function roleAt(index: number): Role {
    return darkroom.apis[index] ?? assert.fail();
  }

  const callsOf = ({ id }: TestAccount): Promise<readonly CallRow[]> =>
    darkroom.testDatabase.database.query<CallRow>(selectCalls, [id]);

  /** Opens streams, half at each process, and waits until each has started. They continue once the gate is opened. */
  async function openStreams(account: TestAccount, gate: Gate): Promise<readonly Promise<string>[]> {
    upstream.script({ pace: (index) => (index < EVENTS_AT_ONCE ? Promise.resolve() : gate.opened) });
    const opened = Array.from({ length: STREAMS }, async (_, index) => {
      const response = await fetch(`${darkroom.urls[index % 2]}/v1/chat/completions`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          model: MODEL,
          stream: true,
          max_tokens: 40,
          messages: [{ role: 'user', content: 'Write a long essay about the sea.' }],
        }),
      });
      assert.equal(response.status, 200);
      const reader = (response.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      while (text.split('\n\n').length <= EVENTS_AT_ONCE) text += (await reader.read()).value ?? '';
      return { reader, text };
    });
    const streams = await Promise.all(opened);
    return streams.map(async ({ reader, text: begun }) => {
      let text = begun;
      try {
        for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
      } catch {
        // The process that sent it is gone.
      }
      return text;
    });
  }

  async function validateCalls(account: TestAccount, ends: readonly string[]): Promise<readonly CallRow[]> {
    let calls: readonly CallRow[] = [];
    await waitFor('every call is settled', async () => {
      calls = await callsOf(account);
      return calls.every(({ settled }) => settled);
    });
    assert.equal(calls.length, STREAMS);
    const { database } = darkroom.testDatabase;
    assert.deepEqual(await verifyLedger(database), []);
    const [counters] = await database.query<{ held: bigint; streams: number }>(selectHeld, [account.id]);
    assert.deepEqual(counters, { held: 0n, streams: 0 });

    const whole = ends.filter((text) => text.endsWith('data: [DONE]\n\n')).length;
    const byUsage = calls.filter(({ isEstimated }) => !isEstimated);
    assert.equal(byUsage.length, whole, 'whoever was answered whole has paid for what was used');
    return calls;
  }

  // Proves C7-43.
  it('leaves them to another when it is killed, which settles what was counted of each', async () => {
    const account = await darkroom.createAccount();
    const gate = createGate();
    const streams = await openStreams(account, gate);
    await roleAt(1).kill('SIGKILL');
    gate.open();

    const ends = await Promise.all(streams);
    const calls = await validateCalls(account, ends);
    const left = calls.filter(({ isEstimated }) => isEstimated);
    assert.equal(left.length, STREAMS / 2);
    for (const { captured, floor, output } of left) assert.deepEqual([captured, output], [floor, 0]);
    await roleAt(1).start();
  });

  it('finds them settled when it was paused for longer than its lease, and settles nothing twice', async () => {
    const account = await darkroom.createAccount();
    const gate = createGate();
    const streams = await openStreams(account, gate);
    process.kill(roleAt(1).pid, 'SIGSTOP');
    let settledMeanwhile = 0;
    try {
      await waitFor('the other has settled its calls', async () => {
        settledMeanwhile = (await callsOf(account)).filter(({ settled }) => settled).length;
        return settledMeanwhile === STREAMS / 2;
      });
    } finally {
      process.kill(roleAt(1).pid, 'SIGCONT');
    }
    gate.open();
    // It continues, and its clients receive everything: what was settled stays as it is.
    const ends = await Promise.all(streams);
    assert.ok(ends.every((text) => text.endsWith('data: [DONE]\n\n')));
    const calls = await callsOf(account);
    assert.equal(calls.filter(({ isEstimated }) => isEstimated).length, STREAMS / 2);
    assert.deepEqual(await verifyLedger(darkroom.testDatabase.database), []);
    const answer = await fetch(`${darkroom.urls[1]}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: MODEL, max_tokens: 2, messages: [{ role: 'user', content: 'hello' }] }),
    });
    assert.equal(answer.status, 200, 'it takes new calls under a new lease');
  });
});
