import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countActivities, runWorkers } from '../../src/processes/worker-run.ts';
import type { RunnableWorker } from '../../src/processes/worker-run.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { waitFor } from '@darkroom/testing/wait-for';

/** Longer than any test: whatever waits for it hangs. */
const FOREVER_MS = 600_000;

/** What we need of the SDK's worker, failing as it does. */
class FailingWorker implements RunnableWorker {
  #state = 'RUNNING';
  #resolve!: () => void;
  #reject!: (error: Error) => void;
  readonly #ended = new Promise<void>((resolve, reject) => {
    this.#resolve = resolve;
    this.#reject = reject;
  });

  run(): Promise<void> {
    return this.#ended;
  }

  getState(): string {
    return this.#state;
  }

  shutdown(): void {
    this.#state = 'STOPPED';
    this.#resolve();
  }

  /** @param isSilent whether its `run` continues as if nothing had happened. */
  fail(isSilent = false): void {
    this.#state = 'FAILED';
    if (!isSilent) this.#reject(new Error('Namespace acme is not found.'));
  }
}

/** An activity that lasts until the test ends it. */
function lastingActivity() {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { submitGeneration: () => ended, end: () => end() };
}

function start({ graceMs = FOREVER_MS, handBackAfterMs = FOREVER_MS, mostStoppingMs = FOREVER_MS } = {}) {
  const { submitGeneration, end } = lastingActivity();
  const { counted, count } = countActivities({ submitGeneration });
  const workers = [new FailingWorker(), new FailingWorker()] as const;
  let wasHandedBack = false;
  const handBack = (): void => {
    wasHandedBack = true;
  };
  const logger = silentLogger();
  const run = runWorkers({ workers, handBackAfterMs, handBack, graceMs, mostStoppingMs, activities: count, logger });
  let failure: unknown;
  run.finished.catch((error: unknown) => {
    failure = error;
  });
  return {
    run,
    workers,
    activity: counted.submitGeneration,
    end,
    failure: () => failure,
    handedBack: () => wasHandedBack,
  };
}

describe('the Temporal workers of a process', () => {
  it('end together when one of them fails', async () => {
    const { run, workers } = start();
    workers[0].fail();

    await assert.rejects(run.finished, /Namespace acme is not found/);

    assert.equal(workers[1].getState(), 'STOPPED');
  });

  it('end when one of them has failed and the SDK does not report it', async () => {
    const { run, workers } = start({ mostStoppingMs: 1 });
    workers[0].fail(true);

    await assert.rejects(run.finished, /failed, and did not stop/);

    assert.equal(workers[1].getState(), 'STOPPED');
  });

  it('let the native half of a failed one finish, which reports its end only to polls', async () => {
    const polled: string[] = [];
    let isShutDown = false;
    const poll = (kind: string) => async (): Promise<never> => {
      const isRejectedFirst = kind === 'activity' && !polled.includes(kind);
      polled.push(kind);
      if (!isShutDown || isRejectedFirst) throw new Error('Namespace acme is not found.');
      throw Object.assign(new Error('Worker has been shutdown'), { name: 'ShutdownError' });
    };
    const native = {
      initiateShutdown: () => {
        isShutDown = true;
      },
      pollActivityTask: poll('activity'),
      pollNexusTask: poll('nexus'),
      pollWorkflowActivation: poll('workflow'),
      // As the SDK's: only then.
      finalizeShutdown: () =>
        waitFor('the end was reported', () => ['activity', 'nexus', 'workflow'].every((kind) => polled.includes(kind))),
    };
    let state = 'RUNNING';
    let fail!: () => void;
    const failed = new Promise<void>((resolve) => {
      fail = resolve;
    });
    let hasEnded = false;
    const worker = {
      nativeWorker: native,
      getState: () => state,
      shutdown: () => undefined,
      async run() {
        await failed;
        state = 'FAILED';
        await this.nativeWorker.finalizeShutdown();
        hasEnded = true;
        throw new Error('Namespace acme is not found.');
      },
    };
    const { count } = countActivities({});
    const run = runWorkers({
      workers: [worker],
      handBackAfterMs: FOREVER_MS,
      handBack: () => undefined,
      graceMs: FOREVER_MS,
      activities: count,
      logger: silentLogger(),
    });
    fail();

    await assert.rejects(run.finished, /Namespace acme is not found/);
    await waitFor('run has ended too', () => hasEnded);
    assert.deepEqual(polled.toSorted(), ['activity', 'activity', 'nexus', 'workflow']);
  });

  it('wait for running upstream requests before they end as failed', async () => {
    const { run, workers, activity, end, failure, handedBack } = start({ handBackAfterMs: 1 });
    const execution = activity();
    workers[0].fail();

    await waitFor('what can be handed back is', handedBack);
    assert.equal(failure(), undefined);
    end();
    await execution;

    await assert.rejects(run.finished, /Namespace acme is not found/);
  });

  it('wait for them no longer than the grace period of upstreams', async () => {
    const { run, workers, activity, end } = start({ graceMs: 50 });
    const execution = activity();
    workers[0].fail();

    await assert.rejects(run.finished, /Namespace acme is not found/);

    end();
    await execution;
  });

  it('finish in order when they are stopped', async () => {
    const { run, workers } = start();

    run.shutdown();
    await run.finished;

    assert.deepEqual(
      workers.map((worker) => worker.getState()),
      ['STOPPED', 'STOPPED'],
    );
  });
});
