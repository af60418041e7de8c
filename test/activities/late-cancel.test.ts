/**
 * The cost of a cancelled task whose provider had finished all the same: as the model's `lateCancel` says (contract
 * §4).
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityContext } from '../../activities/context.ts';
import { createCancelGeneration, createSettleTask } from '../../activities/media-task.ts';
import { readOperatorCosts } from '../../src/billing/operator-costs.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { LateCancel } from '@darkroom/api/tasks/pricing';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { formatUsd } from '../../src/domain/money.ts';
import type { RunRecord } from '../../src/domain/run-record.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { stopJob } from '../../src/generation/stop-job.ts';
import { createStopSlots } from '../../src/generation/slots.ts';
import { ProviderFailure } from '../../src/providers/provider.ts';
import type { CancelAnswer, JobState, Provider } from '../../src/providers/provider.ts';
import { createSettler } from '../../src/tasks/lifecycle/settle-queue.ts';
import { beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { recordFiles, recordJob } from '../../src/tasks/lifecycle/generations.ts';
import { readTask } from '../../src/tasks/record/read.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { definition } from '../catalogue/definitions.ts';
import { stub } from '../support/stub.ts';
import { PRICE, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import type { StopResult } from '../../workflows/contracts.ts';

const { signal } = new AbortController();

/** Two images at most. */
const HELD = 2n * PRICE;

const modelOf = (lateCancel: LateCancel | undefined) => {
  const { inputSchema } = definition();
  return definition({
    name: `acme/late-${lateCancel ?? 'unset'}`,
    routes: { default: { upstreams: [{ protocol: 'scripted', model: 'images', id: `late-${lateCancel}` }] } },
    inputSchema: {
      ...inputSchema,
      properties: { prompt: { type: 'string', maxLength: 100 }, n: { type: 'integer', minimum: 1, maximum: 4 } },
    },
    pricing: {
      unit: 'image',
      usd: '0.01',
      count: { field: 'n', default: 1 },
      ...(lateCancel === undefined ? {} : { lateCancel }),
    },
  });
};

interface Script {
  readonly cancel: CancelAnswer;
  readonly poll?: () => Promise<JobState>;
}

const image = { from: 'url', url: 'https://files.example.com/one.png' } as const;
const done = (count: number) => (): Promise<JobState> =>
  Promise.resolve({ kind: 'done', files: Array.from({ length: count }, () => image) });

describe('a task that is cancelled after its provider had finished', () => {
  let room: TaskRoom;
  const settings = [undefined, 'billed', 'full', 'free'] as const;
  before(async () => {
    const models = settings.map(modelOf);
    room = await openTaskRoom(undefined, { models });
    await createPinnedDefinitions(room.database).pin(models);
  });
  after(() => room.close());

  function contextOf(script: Script | undefined): ActivityContext {
    const provider = stub<Provider>({
      cancel: () => Promise.resolve(script?.cancel ?? assert.fail('nothing is to be cancelled')),
      poll: () => script?.poll?.() ?? assert.fail('nothing is to be polled'),
    });
    return stub<ActivityContext>({
      database: room.database,
      settler: createSettler({
        accountDatabase: () => room.database,
        retentionDays: 7,
      }),
      definitions: createPinnedDefinitions(room.database),
      providers: new Map([['scripted', provider]]),
      stopSlots: createStopSlots(),
      upstreams: { gate: { release: () => Promise.resolve() } },
      logger: silentLogger(),
    });
  }

  async function handled(lateCancel: LateCancel | undefined): Promise<TaskId> {
    const caller = await room.newCaller();
    const body = { model: `acme/late-${lateCancel ?? 'unset'}`, input: { prompt: 'a fox', n: 2 } };
    const { taskId } = await room.creator.create(caller, body, undefined);
    await beginHandling(room.database, taskId, 60);
    return taskId;
  }

  const at = (lateCancel: LateCancel | undefined) => ({
    upstreamName: `late-${lateCancel}`,
    upstreamIndex: 0,
    label: 1,
  });

  async function settle(context: ActivityContext, taskId: TaskId, answer: StopResult = {}): Promise<bigint> {
    const { billedUsd, finishedFiles } = answer;
    const { accountId } = await readWorkingTask(room.database, taskId);
    const settlement = {
      taskId,
      accountId,
      status: 'fail' as const,
      reason: 'cancelled' as const,
      ...(billedUsd === undefined ? {} : { billedUsd }),
      ...(finishedFiles === undefined ? {} : { finishedFiles }),
    };
    await createSettleTask(context)(settlement);
    assert.deepEqual(await verifyLedger(room.database), []);
    const { capturedMicroUsd } = await readTask(room.database, taskId);
    return capturedMicroUsd ?? assert.fail('it is not settled');
  }

  /** Cancels a task whose provider has a job, as the workflow does it. @returns the captured amount. */
  async function cancelled(lateCancel: LateCancel | undefined, script: Script): Promise<bigint> {
    const taskId = await handled(lateCancel);
    await recordJob(room.database, await readWorkingTask(room.database, taskId), at(lateCancel), 'job');
    const context = contextOf(script);
    const answer = await stopJob(context, taskId, signal);
    return settle(context, taskId, answer);
  }

  const costsOf = async (lateCancel: LateCancel | undefined): Promise<readonly [number, bigint]> => {
    const day = new Date().toISOString().slice(0, 10);
    const costs = await readOperatorCosts(room.database, { from: day, to: day });
    const own = costs.filter(({ upstream }) => upstream === `late-${lateCancel}`);
    return [own.reduce((sum, { tasks }) => sum + tasks, 0), own.reduce((sum, cost) => sum + cost.atMostMicroUsd, 0n)];
  };

  it('costs what the provider reports as billed, and the operator pays the excess over the hold', async () => {
    for (const lateCancel of [undefined, 'billed'] as const) {
      const [tasks, before] = await costsOf(lateCancel);
      const bills = (billedMicroUsd: bigint): Script => ({ cancel: { outcome: 'too_late', billedMicroUsd } });

      assert.equal(await cancelled(lateCancel, bills(4_000n)), 4_000n);
      assert.deepEqual(await costsOf(lateCancel), [tasks, before]);

      assert.equal(await cancelled(lateCancel, bills(HELD + 500n)), HELD);
      assert.deepEqual(await costsOf(lateCancel), [tasks + 1, before + 500n]);

      assert.equal(await cancelled(lateCancel, { cancel: { outcome: 'too_late' } }), 0n);
      assert.deepEqual(await costsOf(lateCancel), [tasks + 2, before + 500n + HELD]);
    }
  });

  it('costs the price of the finished output when the model says `full`, whichever side reports it', async () => {
    const [tasks, before] = await costsOf('full');

    assert.equal(await cancelled('full', { cancel: { outcome: 'too_late' }, poll: done(1) }), PRICE);
    assert.equal(await cancelled('full', { cancel: { outcome: 'unsupported' }, poll: done(2) }), HELD);
    const recorded = await handled('full');
    const file = { url: 'https://files.example.com/one.png' };
    await recordFiles(room.database, await readWorkingTask(room.database, recorded), at('full'), [
      file,
      file,
      file,
      file,
    ]);
    assert.equal(await settle(contextOf(undefined), recorded), HELD, 'it costs more than was held');

    assert.deepEqual(await costsOf('full'), [tasks, before], 'what was paid is no cost of the operator');
  });

  it('costs what the provider bills when the model says `full` and the output is unknown', async () => {
    const poll = (): Promise<JobState> => Promise.reject(new Error('no answer'));
    const cancel = { outcome: 'too_late', billedMicroUsd: 3_000n } as const;

    assert.equal(await cancelled('full', { cancel, poll }), 3_000n);
  });

  it('costs nothing when the model says `free`, whatever the provider bills', async () => {
    const [tasks, before] = await costsOf('free');
    const cancel = { outcome: 'too_late', billedMicroUsd: 4_000n } as const;
    const noAnswer = (): Promise<JobState> => Promise.reject(new Error('no answer'));

    assert.equal(await cancelled('free', { cancel, poll: done(2) }), 0n);
    assert.equal(await cancelled('free', { cancel, poll: noAnswer }), 0n);

    assert.deepEqual(await costsOf('free'), [tasks + 2, before + 8_000n]);
  });

  it('costs what the provider bills when it had not finished, whatever the model says', async () => {
    const billedMicroUsd = 4_000n;
    const running = (): Promise<JobState> => Promise.resolve({ kind: 'running' });
    const failed = (): Promise<JobState> => Promise.reject(new ProviderFailure('provider_error'));
    for (const lateCancel of settings) {
      assert.equal(await cancelled(lateCancel, { cancel: { outcome: 'cancelled', billedMicroUsd } }), 4_000n);
      assert.equal(
        await cancelled(lateCancel, { cancel: { outcome: 'unsupported', billedMicroUsd }, poll: running }),
        4_000n,
      );
      assert.equal(
        await cancelled(lateCancel, { cancel: { outcome: 'too_late', billedMicroUsd }, poll: failed }),
        4_000n,
      );
    }
  });

  /** One attempt of the activity. */
  async function attemptToStop(cancel: Provider['cancel'], attempt: number, limitMs = 10_000): Promise<unknown> {
    const taskId = await handled(undefined);
    await recordJob(room.database, await readWorkingTask(room.database, taskId), at(undefined), 'job');
    const providers = new Map([['scripted', stub<Provider>({ cancel })]]);
    const context = { ...contextOf(undefined), providers };
    const attemptContext = stub<Context>({
      info: { attempt, startToCloseTimeoutMs: limitMs },
      cancellationSignal: new AbortController().signal,
    });
    const activity = createCancelGeneration(context);
    return asyncLocalStorage.run(attemptContext, () => activity({ taskId, tries: 2 })).catch((error: unknown) => error);
  }

  it('is polled exactly as often as configured when the provider fails', async () => {
    const failure = new Error('no answer');
    const failing = (): Promise<CancelAnswer> => Promise.reject(failure);

    assert.equal(await attemptToStop(failing, 1), failure);
    for (const attempt of [2, 7]) {
      const last = await attemptToStop(failing, attempt);
      assert.ok(last instanceof ApplicationFailure && last.nonRetryable === true, String(last));
    }
  });

  it('is no longer polled when the time of the attempt is nearly over', async () => {
    const silent: Provider['cancel'] = async (_request, _jobId, call) => {
      // On a slow machine it has passed before.
      call.signal.throwIfAborted();
      await once(call.signal, 'abort');
      throw call.signal.reason;
    };

    const error = await attemptToStop(silent, 1, 1_050);

    assert.equal((error as Error).name, 'TimeoutError');
  });

  it('is stopped when only the history of the run has its job, because the database has lost it', async () => {
    const taskId = await handled('full');
    const stopped: string[] = [];
    const provider = stub<Provider>({
      cancel(_request, jobId) {
        stopped.push(jobId);
        return Promise.resolve({ outcome: 'cancelled' });
      },
    });
    const context: ActivityContext = {
      ...contextOf(undefined),
      providers: new Map([['scripted', provider]]),
      readRun: (_taskId: TaskId, runId: string) =>
        Promise.resolve(
          runId === 'the run' ? stub<RunRecord>({ job: { jobId: 'lost-job', upstreamIndex: 0 } }) : undefined,
        ),
    };

    assert.deepEqual(await stopJob(context, taskId, signal, { runId: 'another' }), {});
    assert.deepEqual(await stopJob(context, taskId, signal, { runId: 'the run' }), { outcome: 'cancelled' });
    assert.deepEqual(stopped, ['lost-job']);
  });

  it('passes only amounts and a count through Temporal', async () => {
    const taskId = await handled('full');
    await recordJob(room.database, await readWorkingTask(room.database, taskId), at('full'), 'job');
    const script: Script = { cancel: { outcome: 'too_late', billedMicroUsd: 4_000n }, poll: done(2) };

    const answer = await stopJob(contextOf(script), taskId, signal);

    assert.deepEqual(answer, { outcome: 'too_late', billedUsd: formatUsd(4_000n), finishedFiles: 2 });
  });
});
