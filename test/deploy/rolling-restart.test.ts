/**
 * A rolling restart under load: two apis behind a load balancer and two workers, each ended with SIGTERM and started
 * again while clients create, read and stream. No request fails (a reset connection counts as a failure), every task
 * succeeds, and no attempt that a worker had is timed out for a missing heartbeat.
 */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { textDefinition } from '../catalogue/definitions.ts';
import { isWorkedOnBy } from '../support/at-work.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, Role, TestAccount } from '../support/darkroom.ts';
import { startHealthCheckingProxy } from '../support/health-checking-proxy.ts';
import type { HealthCheckingProxy } from '../support/health-checking-proxy.ts';
import { writeModelFiles } from '../support/model-files.ts';
import { startTraceCollector } from '../support/trace-collector.ts';
import type { TraceCollector } from '../support/trace-collector.ts';
import { startTestProvider } from '../support/test-provider/process.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { waitFor } from '@darkroom/testing/wait-for';

/** 50 requests per second, if the machine is fast enough. */
const REQUEST_EVERY_MS = 20;
/**
 * Maximum requests at a time: about ten streams are always open. A slower machine receives fewer requests, because
 * failures of an overloaded machine are not caused by a restart.
 */
const MOST_OPEN = 30;
/**
 * Maximum tasks that have not ended, for the same reason: a create costs the apis far less than the task costs a
 * worker, and where workers do not keep up, the task that a restart waits for would queue behind all others.
 */
const MOST_UNFINISHED = 60;
/** Of this many requests one creates a task, one streams text, and the others read. */
const ROUND = 10;
/** One in this many tasks outlives the grace time of a worker, which then hands it back. */
const LONG_EVERY = 8;
/** About 2 s per response: long enough that a process ends during it, and shorter than its drain and grace time. */
const TEXT = textDefinition({
  name: 'acme/speaker',
  upstreams: [{ protocol: 'embedded', model: 'conformance', parameters: { tokensPerSecond: 20 } }],
});
const TEXT_TOKENS = 40;

/**
 * Failures of a machine that is slower than the load, with or without a restart, which are retried by design:
 * timeouts while waiting for a connection, for the row of the account or of the upstream, and for one of the
 * downloads that one account may have at a time; and waits of a worker that was taken for dead, or for one that never
 * got them.
 */
const PASSING: Readonly<Record<string, readonly string[]>> = {
  submitGeneration: ['DatabaseUnavailableError', 'UpstreamBusyError'],
  awaitGeneration: ['DatabaseUnavailableError', 'WorkerDied'],
  archiveOutputs: ['DatabaseUnavailableError', 'provider_unavailable'],
  settleTask: ['DatabaseUnavailableError', 'AccountBusyError'],
};

/** One attempt of an activity. */
interface Attempt {
  readonly taskId: string;
  readonly name: string;
  readonly attempt: number;
}

describe('a rolling restart under load', () => {
  let collector: TraceCollector;
  let provider: TestProvider;
  let modelsDir: string;
  let darkroom: Darkroom;
  let account: TestAccount;
  let proxy: HealthCheckingProxy;
  before(async () => {
    collector = await startTraceCollector();
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
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        // Longer than the proxy takes to notice, and than a response in progress needs: on a machine on which three
        // checks took ten seconds, requests still went to an api that had ended its drain.
        DRAIN_SECONDS: '30',
        SHUTDOWN_GRACE_SECONDS: '4',
      },
    });
    account = await darkroom.createAccount({ runningCap: 1_000, queueCap: 10_000 });
    proxy = await startHealthCheckingProxy(darkroom.urls);
    await waitFor('both apis are ready', () => proxy.isReady(0) && proxy.isReady(1));
  });
  after(async () => {
    await proxy?.close();
    await darkroom?.stop();
    await provider?.stop();
    collector?.close();
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
  /** Those not yet seen to have ended. */
  const unfinished = new Set<string>();

  async function create(): Promise<void> {
    const prompt = tasks.length % LONG_EVERY === 0 ? 'a lake [slow 9000]' : 'a lake [slow 1500]';
    const text = await ask('POST', '/v1/tasks', { model: 'test/tasks', input: { prompt } });
    const { taskId } = (JSON.parse(text) as { data: { taskId: string } }).data;
    tasks.push(taskId);
    unfinished.add(taskId);
  }

  /**
   * Creates tasks that last until they are released, until that worker waits for the provider's work on one. Their
   * submit does not count, although it is prolonged: it ends within the grace time, and nothing is handed back.
   *
   * @param marker a part of their prompts. @returns that task: the worker must hand it back.
   */
  async function occupy(worker: Role, marker: string): Promise<string> {
    let taskId = '';
    await waitFor('the worker waits for a task that lasts', async () => {
      const prompt = `${marker} [hold] [delay-submit 1500]`;
      const text = await ask('POST', '/v1/tasks', { model: 'test/tasks', input: { prompt } });
      ({ taskId } = (JSON.parse(text) as { data: { taskId: string } }).data);
      tasks.push(taskId);
      await account.client.waitFor(taskId, ({ status }) => status === 'handling');
      return isWorkedOnBy(worker, darkroom, taskId, 'awaitGeneration');
    });
    return taskId;
  }

  async function stream(): Promise<void> {
    const messages = [{ role: 'user', content: 'Write a long essay about the sea.' }];
    const request = { model: TEXT.name, stream: true, max_tokens: TEXT_TOKENS, messages };
    const text = await ask('POST', '/v1/chat/completions', request);
    assert.match(text, /"finish_reason":"length"[^]*data: \[DONE\]\n\n$/);
    assert.doesNotMatch(text, /"error"/);
  }

  async function read(count: number): Promise<void> {
    const taskId = [...unfinished][count % (unfinished.size + 1)];
    const text = await ask('GET', taskId === undefined ? '/v1/tasks' : `/v1/tasks/${taskId}`);
    if (taskId === undefined) return;
    const { data } = JSON.parse(text) as { data: { status: TaskStatus } };
    if (isTerminal(data.status)) unfinished.delete(taskId);
  }

  /** Sends requests, whatever the results of earlier ones, until it is stopped. */
  function load(): { readonly requests: number; readonly failed: readonly string[]; stop(): Promise<void> } {
    const failed: string[] = [];
    const open = new Set<Promise<void>>();
    let requests = 0;
    const timer = setInterval(() => {
      if (open.size >= MOST_OPEN) return;
      const place = requests++ % ROUND;
      const isCreate = place === 0 && unfinished.size < MOST_UNFINISHED;
      const asked = (isCreate ? create() : place === 5 ? stream() : read(requests))
        .catch((error: unknown) => void failed.push(String(error)))
        .finally(() => open.delete(asked));
      open.add(asked);
    }, REQUEST_EVERY_MS);
    return {
      failed,
      get requests() {
        return requests;
      },
      async stop() {
        clearInterval(timer);
        await Promise.all(open);
      },
    };
  }

  async function restart(role: Role): Promise<void> {
    await role.kill('SIGTERM');
    await role.start();
  }

  it('fails no request, loses no task and misses no heartbeat', async (t) => {
    const loading = load();
    const occupying: string[] = [];
    try {
      for (const [place, api] of darkroom.apis.entries()) {
        await restart(api);
        await waitFor('the balancer has it back', () => proxy.isReady(place));
      }
      for (const [place, worker] of darkroom.workers.entries()) {
        const marker = `lake ${place}`;
        occupying.push(await occupy(worker, marker));
        await restart(worker);
        await provider.release(marker);
      }
    } finally {
      await loading.stop();
      t.diagnostic(`${unfinished.size} of ${tasks.length} tasks had not ended when the load stopped`);
    }
    const { requests, failed } = loading;

    assert.deepEqual(proxy.failures, []);
    assert.deepEqual(failed, []);
    // The tasks are read from the apis themselves: the client alternates between them.
    const ends = await Promise.all(tasks.map((taskId) => account.client.waitForTerminal(taskId)));
    assert.deepEqual(
      ends.filter(({ status }) => status !== 'success').map(({ taskId, error }) => ({ taskId, error })),
      [],
    );
    const attempts = new Map(
      await Promise.all(tasks.map(async (taskId) => [taskId, await validateHistory(taskId)] as const)),
    );
    const handedBack = tasks.filter((taskId) => attempts.get(taskId)?.isHandedBack === true);
    assert.deepEqual(
      occupying.filter((taskId) => !handedBack.includes(taskId) && attempts.get(taskId)?.isRetried === false),
      [],
      'each worker handed back what it was in the middle of, unless an overloaded machine had ended that before',
    );
    assert.ok(handedBack.length > 0);
    const perApi = proxy.sent.join(' and ');
    t.diagnostic(
      `${requests} requests, ${perApi} to each api; ${tasks.length} tasks, ${handedBack.length} handed back`,
    );

    // A worker reports each attempt that it received, the last ones when it ends.
    await Promise.all(darkroom.workers.map((worker) => worker.kill('SIGTERM')));
    assert.ok(handedBackAttempts.some(isReceived), 'the collector has the attempts that a stopping worker had');
    const [missed, lost] = [
      silentAttempts.filter(isReceived),
      silentAttempts.filter((attempt) => !isReceived(attempt)),
    ];
    for (const attempt of lost) t.diagnostic(`a start that the server lost: ${JSON.stringify(attempt)}`);
    assert.deepEqual(missed, [], 'a heartbeat was missed');
  });

  /** A slow server records some starts that no worker receives (docs/decisions/0024). */
  const silentAttempts: Attempt[] = [];
  const handedBackAttempts: Attempt[] = [];

  const isReceived = ({ taskId, name, attempt }: Attempt): boolean =>
    collector.spans.some(
      ({ attributes, ...span }) =>
        span.name === name &&
        attributes['darkroom.task_id'] === taskId &&
        Number(attributes['temporal.attempt']) === attempt,
    );

  /** @returns whether an activity of it was handed back, or ended by a slow machine, and started again. */
  async function validateHistory(taskId: string): Promise<{ isHandedBack: boolean; isRetried: boolean }> {
    const handle = darkroom.temporal.workflow.getHandle(taskId);
    await handle.result();
    const { events = [] } = await handle.fetchHistory();
    const timedOut = events?.find((event) => event.activityTaskTimedOutEventAttributes != null);
    assert.equal(timedOut, undefined, `an activity of ${taskId} timed out`);
    const byId = new Map((events ?? []).map((event) => [String(event.eventId), event]));
    let [isHandedBack, isRetried] = [false, false];
    for (const { activityTaskStartedEventAttributes: started } of events ?? []) {
      if (started?.lastFailure == null) continue;
      const { lastFailure, scheduledEventId, attempt } = started;
      const scheduled = byId.get(String(scheduledEventId));
      const name = scheduled?.activityTaskScheduledEventAttributes?.activityType?.name ?? '';
      const previous = { taskId, name, attempt: Number(attempt) - 1 };
      const what = `${name} of ${taskId}, attempt ${String(attempt)}`;
      if (lastFailure.timeoutFailureInfo != null) {
        silentAttempts.push(previous);
        isRetried = true;
        continue;
      }
      const type = lastFailure.applicationFailureInfo?.type;
      if (PASSING[name]?.includes(type ?? '') === true) {
        isRetried = true;
        continue;
      }
      assert.equal(type, 'WorkerShutdown', what);
      isHandedBack = true;
      handedBackAttempts.push(previous);
    }
    return { isHandedBack, isRetried };
  }
});
