/**
 * A rolling restart under load: two apis behind a load balancer and two workers, each ended with SIGTERM and started
 * again while clients create, read and stream. No request fails, a connection that is reset being a failure, every task
 * succeeds, and no worker's heartbeat is missed.
 */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { textDefinition } from '../catalogue/definitions.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { startHealthCheckingProxy } from '../support/health-checking-proxy.ts';
import type { HealthCheckingProxy } from '../support/health-checking-proxy.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { until } from '../support/until.ts';

/** 50 requests a second. */
const REQUEST_EVERY_MS = 20;
/** Of so many requests one creates a task, one streams text, and the others read. */
const ROUND = 10;
/** One in so many tasks outlives the grace time of a worker, which then hands it back. */
const LONG_EVERY = 8;
/** Some 2 s an answer: long enough to be met by the end of a process, and shorter than its drain and grace time. */
const TEXT = textDefinition({
  name: 'acme/speaker',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const TEXT_TOKENS = 40;

describe('a rolling restart under load', () => {
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let proxy: HealthCheckingProxy;
  before(async () => {
    provider = await startTestProvider();
    modelsDir = await writeModelFiles(provider.url);
    await writeFile(path.join(modelsDir, 'speaker.json'), JSON.stringify(TEXT));
    darkroom = await startDarkroom({
      apis: 2,
      workers: 2,
      environment: {
        MODELS_DIR: modelsDir,
        UPSTREAM_TEST_KEY: 'test-key',
        EGRESS_ALLOW: provider.url,
        // Above what the proxy takes to notice, and above what an answer in the middle needs, on a busy machine too.
        DRAIN_SECONDS: '5',
        SHUTDOWN_GRACE_SECONDS: '4',
      },
    });
    account = await darkroom.createAccount({ runningCap: 1_000, queueCap: 10_000 });
    proxy = await startHealthCheckingProxy(darkroom.urls);
    await until('both apis are ready', () => proxy.isReady(0) && proxy.isReady(1));
  });
  after(async () => {
    await proxy?.close();
    await darkroom?.stop();
    await provider?.stop();
    await rm(modelsDir, { recursive: true, force: true });
  });

  async function ask(method: string, place: string, body?: unknown): Promise<string> {
    const response = await fetch(`${proxy.url}${place}`, {
      method,
      headers: { Authorization: `Bearer ${account.client.key}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${method} ${place}: ${text.slice(0, 300)}`);
    return text;
  }

  const tasks: string[] = [];

  async function create(): Promise<void> {
    const prompt = tasks.length % LONG_EVERY === 0 ? 'a lake [slow 9000]' : 'a lake [slow 1500]';
    const text = await ask('POST', '/v1/tasks', { model: 'test/tasks', input: { prompt } });
    tasks.push((JSON.parse(text) as { data: { taskId: string } }).data.taskId);
  }

  /** Creates tasks that outlive the restart of a worker, until that worker has one: it must hand it back. */
  async function occupy(worker: Role): Promise<void> {
    await until('the worker works on a task that lasts', async () => {
      const text = await ask('POST', '/v1/tasks', { model: 'test/tasks', input: { prompt: 'a lake [slow 45000]' } });
      const { taskId } = (JSON.parse(text) as { data: { taskId: string } }).data;
      tasks.push(taskId);
      await account.client.until(taskId, ({ status }) => status === 'handling');
      const { raw } = await darkroom.temporal.workflow.getHandle(taskId).describe();
      return (
        raw.pendingActivities?.some(({ lastWorkerIdentity }) => lastWorkerIdentity?.startsWith(`${worker.pid}@`)) ??
        false
      );
    });
  }

  async function stream(): Promise<void> {
    const messages = [{ role: 'user', content: 'Write a long essay about the sea.' }];
    const request = { model: TEXT.name, stream: true, max_tokens: TEXT_TOKENS, messages };
    const text = await ask('POST', '/v1/chat/completions', request);
    assert.match(text, /"finish_reason":"length"[^]*data: \[DONE\]\n\n$/);
    assert.doesNotMatch(text, /"error"/);
  }

  async function read(count: number): Promise<void> {
    const taskId = tasks[count % (tasks.length + 1)];
    await ask('GET', taskId === undefined ? '/v1/tasks' : `/v1/tasks/${taskId}`);
  }

  /** Sends requests, whatever becomes of those before, until it is told to stop. @returns what failed. */
  function load(): { stop(): Promise<{ requests: number; failed: readonly string[] }> } {
    const failed: string[] = [];
    const open = new Set<Promise<void>>();
    let requests = 0;
    const timer = setInterval(() => {
      const place = requests++ % ROUND;
      const asked = (place === 0 ? create() : place === 5 ? stream() : read(requests))
        .catch((error: unknown) => void failed.push(String(error)))
        .finally(() => open.delete(asked));
      open.add(asked);
    }, REQUEST_EVERY_MS);
    return {
      async stop() {
        clearInterval(timer);
        await Promise.all(open);
        return { requests, failed };
      },
    };
  }

  async function restart(role: Role): Promise<void> {
    await role.kill('SIGTERM');
    await role.start();
  }

  it('fails no request, loses no task and misses no heartbeat', async (t) => {
    const loading = load();
    for (const [place, api] of darkroom.apis.entries()) {
      await restart(api);
      await until('the balancer has it back', () => proxy.isReady(place));
    }
    for (const worker of darkroom.workers) {
      await occupy(worker);
      await restart(worker);
    }
    const { requests, failed } = await loading.stop();

    assert.deepEqual(proxy.failures, []);
    assert.deepEqual(failed, []);
    // The tasks are read from the apis themselves: the client takes turns.
    const ends = await Promise.all(tasks.map((taskId) => account.client.untilTerminal(taskId)));
    assert.deepEqual(
      ends.filter(({ status }) => status !== 'success').map(({ taskId, error }) => ({ taskId, error })),
      [],
    );
    const attempts = await judgeHistories();
    assert.ok(attempts >= darkroom.workers.length, 'a worker was not met in the middle of its work');
    t.diagnostic(
      `${requests} requests, ${proxy.sent.join(' and ')} to each api; ${tasks.length} tasks, ${attempts} handed back`,
    );
  });

  /** @returns how many activities were handed back and begun again elsewhere. */
  async function judgeHistories(): Promise<number> {
    const handedBack = await Promise.all(tasks.map((taskId) => judgeHistory(taskId)));
    return handedBack.reduce((sum, count) => sum + count, 0);
  }

  async function judgeHistory(taskId: string): Promise<number> {
    const handle = darkroom.temporal.workflow.getHandle(taskId);
    await handle.result();
    const { events } = await handle.fetchHistory();
    const timedOut = events?.find((event) => event.activityTaskTimedOutEventAttributes != null);
    assert.equal(timedOut, undefined, `an activity of ${taskId} timed out`);
    const again = (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) =>
      started?.lastFailure == null ? [] : [started],
    );
    for (const { lastFailure, scheduledEventId, attempt } of again) {
      const what = `event ${String(scheduledEventId)} of ${taskId}, attempt ${String(attempt)}`;
      assert.equal(lastFailure?.timeoutFailureInfo ?? null, null, `a heartbeat was missed: ${what}`);
      assert.equal(lastFailure?.applicationFailureInfo?.type, 'WorkerShutdown', what);
    }
    return again.length;
  }
});
