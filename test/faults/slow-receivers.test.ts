/**
 * Receivers that do not respond as they should (spec §6.2, contract §6): an attempt takes at most 10 s, whatever the
 * receiver does, and reads no more of a reply than it must.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiTask } from '../support/api-client.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';

/** Spec §6.2. */
const EXCHANGE_MS = 10_000;
/** Under load a machine starts and ends timed work late; Temporal considers an attempt lost after 20 s. */
const LATE_MS = 8_000;

interface Attempt {
  readonly durationMs: number;
  readonly status: number | null;
  readonly errorClass: string | null;
}

describe('a receiver that', { concurrency: true }, () => {
  let outside: DarkroomWithUpstreams;
  let account: TestAccount;
  before(async () => {
    outside = await startDarkroomWithUpstreams({ CALLBACK_OFFSETS_SECONDS: '0' });
    account = await outside.darkroom.createAccount();
  });
  after(() => outside.stop());

  /**
   * Delivers a task's callback to a path of the receiver. @returns the task, and its one attempt as its owner reads
   * it.
   */
  async function deliver(path: string): Promise<{ task: ApiTask; attempt: Attempt }> {
    const taskId = await outside.create(account, {
      model: 'test/openai',
      input: { prompt: 'a boat' },
      callback: { url: `${outside.receiver.url}${path}` },
    });
    const task = await account.client.waitFor(taskId, ({ callback }) =>
      ['delivered', 'exhausted'].includes(callback?.state ?? ''),
    );
    const { body } = await account.client.send('GET', `/v1/tasks/${taskId}/callback/attempts`);
    const { attempts } = body.data as unknown as { attempts: readonly Attempt[] };
    assert.equal(attempts.length, 1);
    return { task, attempt: attempts[0] ?? assert.fail() };
  }

  for (const [what, path] of [
    ['never answers', '/hang'],
    ['never ends its answer', '/drip'],
  ] as const) {
    // Proves S2.3-1, S6.2-1, S8-1, C6-10, C6-18.
    it(`${what} times out after 10 s, and the task stays unchanged`, async () => {
      const { task, attempt } = await deliver(path);

      assert.deepEqual([task.status, task.callback?.state], ['success', 'exhausted']);
      assert.deepEqual([attempt.status, attempt.errorClass], [null, 'timeout']);
      assert.ok(attempt.durationMs >= EXCHANGE_MS - 100, `${attempt.durationMs} ms`);
      assert.ok(attempt.durationMs <= EXCHANGE_MS + LATE_MS, `${attempt.durationMs} ms`);
    });
  }

  // Proves S6.2-1, C6-10.
  it('responds within 10 s gets its delivery, however slow it is', async () => {
    const { task, attempt } = await deliver('/slow/6000');

    assert.equal(task.callback?.state, 'delivered');
    assert.equal(attempt.status, 204);
    assert.ok(attempt.durationMs >= 5_900, `${attempt.durationMs} ms`);
  });

  // Proves C6-20.
  it('responds with 64 MB is evaluated by its status, without waiting for the body', async () => {
    const { task, attempt } = await deliver('/huge');

    assert.equal(task.callback?.state, 'delivered');
    assert.deepEqual([attempt.status, attempt.errorClass], [200, null]);
    assert.ok(attempt.durationMs < LATE_MS, `${attempt.durationMs} ms`);
  });
});
