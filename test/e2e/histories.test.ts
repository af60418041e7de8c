/**
 * What Temporal stores of a task: little, and nothing private (architecture, "Nothing private or large passes through
 * Temporal").
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import { historyTexts } from '../support/history-texts.ts';
import type { History } from '../support/history-texts.ts';

/** The bound for a synchronous provider without callback, status upserts included. */
const MAX_EVENTS = 26;

/** As many as a small machine can handle: all at once, every one of them would starve. */
const AT_ONCE = 8;

describe('the history of a task', { concurrency: AT_ONCE }, () => {
  let outside: DarkroomWithUpstreams;
  before(async () => {
    outside = await startDarkroomWithUpstreams();
  });
  after(() => outside.stop());

  /** Runs a task to its end, cancelled half-way if requested, and reads what Temporal stores of it. */
  async function record(model: string, behaviour: string, options: Options = {}): Promise<Recorded> {
    const account = await outside.darkroom.createAccount();
    const canary = `canary-${randomUUID()}`;
    const taskId = await outside.create(account, {
      model,
      input: { prompt: `${canary} a harbour ${behaviour}` },
      metadata: { note: `${canary} in metadata` },
      ...(options.callbackPath === undefined
        ? {}
        : { callback: { url: `${outside.receiver.url}${options.callbackPath}?${canary}` } }),
    });
    if (options.isCancelled === true) {
      await outside.waitForProvider(canary, 'poll');
      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
    }
    const isOver = (state: string | undefined): boolean =>
      state === undefined || ['delivered', 'exhausted', 'stopped'].includes(state);
    const task = await account.client.waitFor(
      taskId,
      ({ status, callback }) => ['success', 'fail'].includes(status) && isOver(callback?.state),
    );
    const ids = options.callbackPath === undefined ? [taskId] : [taskId, `callback-${taskId}`];
    const histories = await Promise.all(ids.map((id) => historyOf(id)));
    return { canary, status: task.status, histories };
  }

  /** The whole history of a closed workflow. */
  async function historyOf(workflowId: string): Promise<History> {
    const handle = outside.darkroom.temporal.workflow.getHandle(workflowId);
    await handle.result().catch(() => undefined);
    return handle.fetchHistory();
  }

  function assertNothingPrivate({ canary, histories }: Recorded): void {
    const secrets = [canary, 'harbour', outside.provider.url, outside.receiver.url, 'test-key'];
    for (const text of histories.flatMap(historyTexts)) {
      for (const secret of secrets) assert.ok(!text.includes(secret), `a history contains ${secret}: ${text}`);
      assert.doesNotMatch(text, /https?:\/\//);
    }
  }

  // First, so that the others run while it waits.
  it('is as long for a long job as for a short one', async () => {
    const [short, long] = await Promise.all([
      record('test/replicate', '[slow 100]'),
      record('test/replicate', '[slow 5000]'),
    ]);

    assert.equal(short.histories[0]?.events?.length, long.histories[0]?.events?.length);
  });

  for (const model of ['test/openai', 'darkroom/scene']) {
    it(`has at most ${MAX_EVENTS} events for ${model}, which is synchronous, without callback`, async (t) => {
      const recorded = await record(model, '');

      assert.equal(recorded.status, 'success');
      const events = recorded.histories[0]?.events ?? [];
      t.diagnostic(`${events.length} events`);
      assert.ok(events.some((event) => event.upsertWorkflowSearchAttributesEventAttributes != null));
      assert.ok(events.length <= MAX_EVENTS, `${events.length} events`);
      assertNothingPrivate(recorded);
    });
  }

  for (const [what, model, behaviour, options] of [
    ['succeeds by a job', 'test/tasks', '[slow 300]', { callbackPath: '/ok/histories' }],
    ['is rejected for its content', 'test/openai', '[content]', { callbackPath: '/ok/histories' }],
    ['fails at the provider', 'test/replicate', '[fail]', { callbackPath: '/status/500/histories' }],
    ['loses its provider', 'test/openai', '[drop]', { callbackPath: '/redirect/histories' }],
    ['is rejected at first', 'test/tasks', '[reject-first 1]', {}],
    ['brings a file that is not there', 'test/replicate', '[404 file]', {}],
    ['is cancelled', 'test/replicate', '[slow 60000]', { isCancelled: true }],
  ] as const) {
    it(`contains neither the prompt nor a URL when a task ${what}`, async () => {
      assertNothingPrivate(await record(model, behaviour, options));
    });
  }

  it('is read by these tests to the last payload', async () => {
    const { histories } = await record('test/openai', '');

    // The argument appears in the history only as a payload.
    assert.ok(histories.flatMap(historyTexts).some((text) => text.includes('"model":"test/openai"')));
  });
});

interface Options {
  readonly callbackPath?: string;
  readonly isCancelled?: boolean;
}

interface Recorded {
  readonly canary: string;
  readonly status: string;
  /** The task's, and its callback's if there is one. */
  readonly histories: readonly History[];
}
