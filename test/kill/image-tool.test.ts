/**
 * An api process that dies while it waits for an image of the built-in tool: the text call is settled once, by another
 * process, and the task of the image goes on, alone.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyLedger } from '../../src/billing/verify.ts';
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

describe('an api process that dies while an image is generated', () => {
  let darkroom: Darkroom;
  before(async () => {
    darkroom = await startDarkroom({ apis: 2, workers: 1 });
  });
  after(() => darkroom?.stop());

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
});
