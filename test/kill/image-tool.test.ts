/**
 * An api process that dies while it waits for an image of the built-in tool: the text call is settled once, by another
 * process, and the task of the image goes on, alone. In the background, another process ends the response with it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
import { textDefinition } from '../catalogue/definitions.ts';
import { BackgroundClient } from '../e2e/background-client.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';

interface CallRow {
  readonly isSettled: boolean;
  readonly isEstimated: boolean;
  readonly captured: bigint | null;
  readonly floor: bigint;
}

const selectCalls = {
  name: 'test_text_calls_with_images',
  text: `SELECT settled_at IS NOT NULL AS "isSettled", is_estimated AS "isEstimated",
                captured_micro_usd AS captured, floor_micro_usd AS floor
           FROM text_calls WHERE account_id = $1 AND process_id IS NOT NULL`,
};
const selectTasks = { name: 'test_tasks_of_account', text: 'SELECT id, status FROM tasks WHERE account_id = $1' };
const selectHeld = {
  name: 'test_held_of_account',
  text: 'SELECT held_micro_usd AS held, text_streams AS streams FROM account_counters WHERE account_id = $1',
};

const selectLost = {
  name: 'test_lost_attempts_of_call',
  text: 'SELECT lost_attempts AS lost FROM background_calls WHERE id = $1',
};
const selectEntries = {
  name: 'test_entries_of_references',
  text: `SELECT kind, count(*)::integer AS entries FROM ledger_entries WHERE reference = ANY ($1) GROUP BY kind`,
};

/** It takes seconds to call the tool. */
const SLOW = textDefinition({
  name: 'acme/slow-drawing',
  imageModel: 'darkroom/scene',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 4 } }],
});

describe('an api process that dies while an image is generated', () => {
  let darkroom: Darkroom;
  let modelsDir: string;
  before(async () => {
    modelsDir = await mkdtemp(path.join(os.tmpdir(), 'darkroom-image-kill-'));
    await writeFile(path.join(modelsDir, 'slow.json'), JSON.stringify(SLOW));
    darkroom = await startDarkroom({ apis: 2, workers: 1, environment: { MODELS_DIR: modelsDir } });
  });
  after(async () => {
    await darkroom?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  it('leaves one task, whose image the retry of the client gets, and a settled text call', async () => {
    const { database } = darkroom.testDatabase;
    const account = await darkroom.createAccount();
    const tasks = () => database.query<{ id: string; status: string }>(selectTasks, [account.id]);
    const [worker] = darkroom.workers;
    const [api] = darkroom.apis;
    // The image is not generated before the api is gone.
    await worker?.kill();
    const ask = (index: number, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
      fetch(`${darkroom.urls[index]}/v1/responses`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json', ...more },
        body: JSON.stringify({
          model: 'darkroom/conformance-text',
          input: 'Generate an image of a lake.',
          tools: [{ type: 'image_generation' }],
        }),
      });
    const answering = ask(0).then(
      () => assert.fail('the response came from a process that was killed'),
      (error: unknown) => error,
    );
    await waitFor('the task exists', async () => (await tasks()).length === 1);
    await api?.kill();
    assert.ok((await answering) instanceof TypeError);
    // As OpenAI's clients repeat a request, at the process that is left.
    const retrying = ask(1, { 'X-Stainless-Retry-Count': '1' });
    await Promise.all([api?.start(), worker?.start()]);

    const { output } = (await (await retrying).json()) as { output: readonly { task_id?: string; status: string }[] };
    const [task] = await tasks();
    assert.deepEqual([output[0]?.task_id, output[0]?.status, task?.status], [task?.id, 'completed', 'success']);
    let calls: readonly CallRow[] = [];
    await waitFor('the text call is settled', async () => {
      calls = await database.query<CallRow>(selectCalls, [account.id]);
      return calls.every(({ isSettled }) => isSettled);
    });
    assert.equal(calls.length, 2);
    const [killed] = calls.filter(({ isEstimated }) => isEstimated);
    assert.equal(killed?.captured, killed?.floor);
    assert.equal((await tasks()).length, 1);
    const [counters] = await database.query<{ held: bigint; streams: number }>(selectHeld, [account.id]);
    assert.deepEqual(counters, { held: 0n, streams: 0 });
    assert.deepEqual(await verifyLedger(database), []);
  });

  it('leaves a response in the background to another one, which finds the task', async () => {
    const { database } = darkroom.testDatabase;
    const account = await darkroom.createAccount();
    const client = new BackgroundClient(darkroom.urls, account.client.key);
    const [worker] = darkroom.workers;
    const { id } = await client.create({
      model: SLOW.name,
      input: 'Generate an image of a lake.',
      tools: [{ type: 'image_generation' }],
      background: true,
    });
    const tasks = () => database.query<{ id: string; status: string }>(selectTasks, [account.id]);
    await client.waitForStatus(id, 'in_progress');
    // The model has not called the tool yet, and the image is not generated before the apis are gone.
    await worker?.kill();
    await waitFor('the task exists', async () => (await tasks()).length === 1);
    // One of them runs the attempt.
    for (const api of darkroom.apis) await api.kill();
    await Promise.all([...darkroom.apis, ...darkroom.workers].map((role) => role.start()));

    const { status, output } = await client.waitForStatus(id, 'completed', 'incomplete', 'failed');
    const [task] = await tasks();
    const [item] = output as readonly { task_id?: string; result?: string | null }[];
    assert.deepEqual([status, item?.task_id, task?.status], ['completed', task?.id, 'success']);
    assert.match(String(item?.result), /^[\w+/]{100}/);
    await waitFor('both are settled', async () => {
      const [counters] = await database.query<{ held: bigint; streams: number }>(selectHeld, [account.id]);
      return counters?.held === 0n && counters.streams === 0;
    });
    const [attempts] = await database.query<{ lost: number }>(selectLost, [id]);
    assert.equal(attempts?.lost, 1);
    const entries = await database.query<{ kind: string; entries: number }>(selectEntries, [[id, task?.id]]);
    const counts = Object.fromEntries(entries.map((entry) => [entry.kind, entry.entries]));
    assert.deepEqual([counts['hold'], counts['capture']], [2, 2]);
    assert.equal((await tasks()).length, 1);
    assert.deepEqual(await verifyLedger(database), []);
  });
});
