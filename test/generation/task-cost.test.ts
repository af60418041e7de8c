/** What a task costs its operator, from the provider's answer to the row that the settlement writes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readMargins } from '../../src/billing/task-costs.ts';
import { readOperatorCosts } from '../../src/billing/operator-costs.ts';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import { submitGeneration } from '../../src/generation/submit.ts';
import { verdictOf } from '../../src/generation/verdict.ts';
import { awaitGeneration } from '../../src/generation/wait.ts';
import { ProviderFailure } from '../../src/providers/provider.ts';
import type { JobState, Provider } from '../../src/providers/provider.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { beginHandling, readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { recordJob } from '../../src/tasks/lifecycle/generations.ts';
import { restoreGeneration } from '../../src/tasks/repair/lost-commits.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import type { Consumption } from '../../src/domain/provider-usage.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import { presentMargins } from '../../src/presenters/usage.ts';
import { definition } from '../catalogue/definitions.ts';
import { openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

const FILE = { from: 'url', url: 'https://files.example.com/one.png' } as const;
const image = { type: 'image', objectKey: 'o', mimeType: 'image/png', sizeBytes: 1, sha256: '00' } as const;

const modelOf = (
  name: string,
  pricing: ModelDefinition['pricing'],
  cost?: ModelDefinition['routes'][string]['upstreams'][number]['cost'],
): ModelDefinition =>
  definition({
    name: `acme/${name}`,
    pricing,
    routes: {
      default: {
        upstreams: [{ id: name, protocol: 'scripted', model: 'images', ...(cost === undefined ? {} : { cost }) }],
      },
    },
  });

const FLAT = { unit: 'image', usd: '0.05' } as const;
const MODELS = [
  modelOf('flat', FLAT),
  modelOf('rated', FLAT, { usage: { credits: '0.01' }, pricing: { unit: 'task', usd: '0.02' } }),
  modelOf(
    'credits',
    { unit: 'credit', usd: '0.01', hold: { quantity: 10 }, minimum: '0.015' },
    { usage: { credits: '0.004' } },
  ),
  modelOf('default', { unit: 'token', usd: '0.0001', hold: { quantity: 900 }, unreported: 400 }),
];

describe('the cost of a task', () => {
  let room: TaskRoom;
  let bench: GenerationBench;
  let answer: () => Promise<JobState>;
  before(async () => {
    room = await openTaskRoom(undefined, { models: MODELS });
    const scripted: Provider = scriptedProvider({ poll: () => answer() });
    bench = openGenerationBench(room, { scripted });
    await createPinnedDefinitions(room.database).pin(MODELS);
  });
  after(async () => {
    await bench.close();
    await room.close();
  });

  async function created(model: string): Promise<TaskId> {
    const body = { model: `acme/${model}`, input: { prompt: 'a fox' } };
    return (await room.creator.create(await room.newCaller(), body, undefined)).taskId;
  }

  /** A task whose job is at its upstream. */
  async function submitted(model: string): Promise<TaskId> {
    const taskId = await created(model);
    const { task } = await beginHandling(room.database, taskId, 60);
    await recordJob(room.database, task, { upstreamName: model, upstreamIndex: 0, label: 1 }, 'job');
    return taskId;
  }

  /** The same, submitted by the activity to an upstream that says at once what it charges. */
  async function submittedAt(model: string, consumption: Consumption): Promise<TaskId> {
    const taskId = await created(model);
    const submit = () => Promise.resolve({ kind: 'job', jobId: `job-${taskId}`, ...consumption } as const);
    const context = { ...bench.context, providers: new Map([['scripted', scriptedProvider({ submit })]]) };
    const { account_id: accountId } = (await room.rows('SELECT account_id FROM tasks WHERE id = $1', taskId))[0] as {
      account_id: string;
    };
    const facts = { accountId, model: `acme/${model}`, handlingSeconds: 60, archivingSeconds: 60 };
    const result = await submitGeneration(context, newAttempt(), { taskId, isUpstream: true, ...facts });
    assert.equal(result.kind, 'job');
    return taskId;
  }

  async function polled(taskId: TaskId, state: JobState | ProviderFailure): Promise<void> {
    answer = () => (state instanceof ProviderFailure ? Promise.reject(state) : Promise.resolve(state));
    await awaitGeneration(bench.context, newAttempt(), { taskId, handlingSeconds: 60 }).catch((error: unknown) => {
      assert.ok(state instanceof ProviderFailure, String(error));
    });
  }

  async function settled(taskId: TaskId, reason?: FailureReason, billedUsd?: string): Promise<void> {
    const verdict = await verdictOf(
      bench.context,
      reason === undefined
        ? { taskId, accountId: 'any', status: 'success', outputs: [image] }
        : { taskId, accountId: 'any', status: 'fail', reason, ...(billedUsd === undefined ? {} : { billedUsd }) },
    );
    for (let times = 0; times < 2; times++) {
      await settleTask(room.database, taskId, verdict, { retentionDays: 7 });
    }
  }

  /** The recorded cost, if there is any: of the upstream of its model, with what the task shows as captured. */
  const costOf = async (taskId: TaskId): Promise<unknown> => {
    const [row, ...others] = await room.rows(
      `SELECT c.cost_micro_usd AS cost, c.source, c.usage, c.captured_micro_usd AS captured,
              'acme/' || c.upstream = t.model AND c.captured_micro_usd = t.captured_micro_usd AS "isOfTask"
         FROM task_costs c JOIN tasks t ON t.id = c.task_id WHERE c.task_id = $1`,
      taskId,
    );
    assert.deepEqual(others, []);
    if (row === undefined) return undefined;
    const { isOfTask, ...cost } = row;
    assert.equal(isOfTask, true);
    return cost;
  };

  async function endedWith(model: string, consumption: object): Promise<unknown> {
    const taskId = await submitted(model);
    await polled(taskId, { kind: 'done', files: [FILE], ...consumption });
    await settled(taskId);
    return costOf(taskId);
  }

  it('is what the provider reported, once, although it is settled twice', async () => {
    assert.deepEqual(await endedWith('rated', { costMicroUsd: 12_345n, usage: { credits: 7 } }), {
      cost: 12_345n,
      source: 'reported',
      usage: { credits: 7 },
      captured: 50_000n,
    });
  });

  it('is the usage at its rates, or the price rule, or not known', async () => {
    const captured = 50_000n;
    assert.deepEqual(await endedWith('rated', { usage: { credits: 2.5 } }), {
      captured,
      cost: 25_000n,
      source: 'usage',
      usage: { credits: 2.5 },
    });
    assert.deepEqual(await endedWith('rated', {}), { captured, cost: 20_000n, source: 'rule', usage: null });
    assert.deepEqual(await endedWith('flat', {}), { captured, cost: null, source: null, usage: null });
  });

  it('is recorded above the hold, of which no more is captured', async () => {
    assert.deepEqual(await endedWith('credits', { usage: { credits: 50 } }), {
      cost: 200_000n,
      source: 'usage',
      usage: { credits: 50 },
      captured: 100_000n,
    });
  });

  it('is apart from the price by usage, which has a minimum', async () => {
    const row = await endedWith('credits', { usage: { credits: 1 }, costMicroUsd: 0n });

    assert.deepEqual(row, { cost: 0n, source: 'reported', usage: { credits: 1 }, captured: 15_000n });
  });

  it('leaves a price by usage without a report at what the model file says, or else at the hold', async () => {
    const captured = async (model: string) => (await endedWith(model, {})) as { captured: bigint };

    assert.equal((await captured('default')).captured, 40_000n);
    assert.equal((await captured('credits')).captured, 100_000n);
  });

  it('of a failed job is what its answer says, and otherwise not known', async () => {
    const reported = await submitted('rated');
    await polled(reported, new ProviderFailure('provider_error', { consumption: { costMicroUsd: 9n } }));
    await settled(reported, 'provider_error');
    const silent = await submitted('rated');
    await polled(silent, new ProviderFailure('provider_error'));
    await settled(silent, 'provider_error');

    const rest = { usage: null, captured: 0n };
    assert.deepEqual(await costOf(reported), { ...rest, cost: 9n, source: 'reported' });
    assert.deepEqual(await costOf(silent), { ...rest, cost: null, source: null });
  });

  // A worker may be killed at any moment after the answer: no other answer has the cost again.
  it('that the answer to the submit has is recorded with the job, by one statement', async () => {
    const recorded = (taskId: TaskId) =>
      room.rows(
        'SELECT state, job_id AS "jobId", cost_micro_usd AS cost, cost_source AS source, usage FROM generations WHERE task_id = $1',
        taskId,
      );
    const taskId = await submittedAt('rated', { costMicroUsd: 7n, usage: { credits: 3 } });
    const row = { state: 'submitted', jobId: `job-${taskId}`, cost: 7n, source: 'reported', usage: { credits: 3 } };
    assert.deepEqual(await recorded(taskId), [row]);

    // The first statement was committed, and its response lost.
    const task = await readWorkingTask(room.database, taskId);
    const at = { upstreamName: 'rated', upstreamIndex: 0, label: 1 };
    await recordJob(room.database, task, at, `job-${taskId}`, { cost: { microUsd: 7n, source: 'reported' } });
    assert.deepEqual(await recorded(taskId), [row]);

    const rated = await submittedAt('rated', { usage: { credits: 3 } });
    const atRates = { ...row, jobId: `job-${rated}`, cost: 30_000n, source: 'usage' };
    assert.deepEqual(await recorded(rated), [atRates]);
    const silent = await submittedAt('rated', {});
    const nothing = { ...row, jobId: `job-${silent}`, cost: null, source: null, usage: null };
    assert.deepEqual(await recorded(silent), [nothing]);
  });

  it('is what the answer to the submit said, as far as the last one says nothing else', async () => {
    const ended = async (first: Consumption, last: Consumption): Promise<unknown> => {
      const taskId = await submittedAt('rated', first);
      await polled(taskId, { kind: 'done', files: [FILE], ...last });
      await settled(taskId);
      const { cost, source, usage } = (await costOf(taskId)) as Readonly<Record<'cost' | 'source' | 'usage', unknown>>;
      return { cost, source, usage };
    };
    const first = { costMicroUsd: 7n, usage: { credits: 3 } };

    assert.deepEqual(await ended(first, {}), { cost: 7n, source: 'reported', usage: { credits: 3 } });
    assert.deepEqual(await ended(first, { costMicroUsd: 5n }), { cost: 5n, source: 'reported', usage: { credits: 3 } });
    assert.deepEqual(await ended(first, { costMicroUsd: 0n }), { cost: 0n, source: 'reported', usage: { credits: 3 } });
    assert.deepEqual(await ended(first, { usage: { seconds: 2 } }), {
      cost: 7n,
      source: 'reported',
      usage: { credits: 3, seconds: 2 },
    });
    // At the rates: of the usage that counts in the end, which the later answer names by name.
    assert.deepEqual(await ended({ usage: { credits: 3 } }, { usage: { seconds: 2 } }), {
      cost: 30_000n,
      source: 'usage',
      usage: { credits: 3, seconds: 2 },
    });
    assert.deepEqual(await ended({ usage: { credits: 3 } }, { usage: { credits: 1 } }), {
      cost: 10_000n,
      source: 'usage',
      usage: { credits: 1 },
    });
  });

  it('by usage captures the usage that only the answer to the submit had', async () => {
    const taskId = await submittedAt('credits', { usage: { credits: 4 } });
    await polled(taskId, { kind: 'done', files: [FILE] });
    await settled(taskId);

    assert.deepEqual(await costOf(taskId), {
      cost: 16_000n,
      source: 'usage',
      usage: { credits: 4 },
      captured: 40_000n,
    });
  });

  it('of a job that failed is what was charged with the submit, unless it is not billed', async () => {
    const ended = async (failure: ProviderFailure): Promise<unknown> => {
      const taskId = await submittedAt('rated', { costMicroUsd: 7n, usage: { credits: 3 } });
      await polled(taskId, failure);
      await settled(taskId, failure.reason);
      return costOf(taskId);
    };
    const rest = { usage: { credits: 3 }, captured: 0n, source: 'reported' };

    assert.deepEqual(await ended(new ProviderFailure('provider_error')), { ...rest, cost: 7n });
    assert.deepEqual(await ended(new ProviderFailure('provider_error', { isUnbilled: true })), { ...rest, cost: 0n });
    assert.deepEqual(await ended(new ProviderFailure('no_output', { consumption: { costMicroUsd: 4n } })), {
      ...rest,
      cost: 4n,
    });
  });

  it('of a job that was cancelled or timed out is what was charged with the submit, and bounds what it can be', async () => {
    const charged = { costMicroUsd: 7n };
    const timedOut = await submittedAt('rated', charged);
    await settled(timedOut, 'timed_out');
    const cancelled = await submittedAt('rated', charged);
    await settled(cancelled, 'cancelled');
    const refunded = await submittedAt('rated', charged);
    await settled(refunded, 'cancelled', '0');

    const rest = { usage: null, captured: 0n, source: 'reported' };
    assert.deepEqual(await costOf(timedOut), { ...rest, cost: 7n });
    assert.deepEqual(await costOf(cancelled), { ...rest, cost: 7n });
    assert.deepEqual(await costOf(refunded), { ...rest, cost: 0n });
    const borne = await room.rows(
      'SELECT reason, at_most_micro_usd AS most FROM operator_costs WHERE task_id = ANY($1) ORDER BY reason',
      [timedOut, cancelled, refunded],
    );
    assert.deepEqual(borne, [
      { reason: 'cancelled', most: 7n },
      { reason: 'timed_out', most: 7n },
    ]);
  });

  it('of a cancelled job is what the provider bills', async () => {
    const taskId = await submitted('rated');
    await settled(taskId, 'cancelled', '0.004');

    assert.deepEqual(await costOf(taskId), { cost: 4_000n, source: 'reported', usage: null, captured: 4_000n });
  });

  it('bounds what the operator bears where the provider reported it', async () => {
    const taskId = await submitted('flat');
    await polled(taskId, new ProviderFailure('no_output', { consumption: { costMicroUsd: 70_000n } }));
    await settled(taskId, 'no_output');

    const day = new Date().toISOString().slice(0, 10);
    const costs = await readOperatorCosts(room.database, { from: day, to: day });
    const borne = costs.filter(({ upstream, reason }) => upstream === 'flat' && reason === 'no_output');
    assert.deepEqual(
      borne.map(({ atMostMicroUsd }) => atMostMicroUsd),
      [70_000n],
    );
  });

  it('does not exist for a task that no upstream had', async () => {
    const body = { model: 'acme/flat', input: { prompt: 'a fox' } };
    const { taskId } = await room.creator.create(await room.newCaller(), body, undefined);
    await settled(taskId, 'timed_out');

    assert.equal(await costOf(taskId), undefined);
  });

  it('survives that lost commits are restored, and is the price rule’s where it was lost', async () => {
    const [known, lost] = [await submitted('rated'), await submitted('rated')];
    const at = { upstreamName: 'rated', upstreamIndex: 0 };
    const files = [{ key: 'k', sizeBytes: 1, sha256: '00' }];
    const rule = { cost: { microUsd: 20_000n, source: 'rule' } } as const;
    await polled(known, { kind: 'done', files: [FILE], costMicroUsd: 5n });
    for (const taskId of [known, lost]) {
      await restoreGeneration(room.database, taskId, at, { state: 'produced', files }, true, rule);
      await settled(taskId);
    }

    const rest = { usage: null, captured: 50_000n };
    assert.deepEqual(await costOf(known), { ...rest, cost: 5n, source: 'reported' });
    assert.deepEqual(await costOf(lost), { ...rest, cost: 20_000n, source: 'rule' });
  });
});

describe('the margins of tasks', () => {
  let room: TaskRoom;
  before(async () => {
    room = await openTaskRoom();
    await room.rows(
      `INSERT INTO task_costs (task_id, account_id, model, upstream, cost_micro_usd, source, captured_micro_usd, ended_at)
       VALUES ('a', 'acc_1', 'm', 'one', 10000, 'reported', 30000, '2026-11-01T00:00:00Z'),
              ('b', 'acc_1', 'm', 'two', 50000, 'usage', 30000, '2026-11-01T23:59:59.999Z'),
              ('c', 'acc_2', 'n', 'one', 0, 'rule', 0, '2026-11-02T00:00:00Z'),
              ('d', 'acc_2', 'n', 'one', NULL, NULL, 70000, '2026-11-02T12:00:00Z'),
              ('e', 'acc_2', 'n', 'one', 1, 'rule', 1, '2026-11-03T00:00:00Z')`,
    );
  });
  after(() => room.close());

  const report = async (groupBy: readonly ('day' | 'model' | 'upstream' | 'account')[], to = '2026-11-02') => {
    const query = { from: '2026-11-01', to, groupBy };
    return presentMargins(query, await readMargins(room.database, query));
  };

  it('leave tasks of unknown cost out, and show how many they are', async () => {
    assert.deepEqual((await report(['model'])).rows, [
      {
        model: 'm',
        tasks: 2,
        captured: '0.06',
        cost: '0.06',
        margin: '0',
        tasksBelowCost: 1,
        unknownTasks: 0,
        unknownCaptured: '0',
        textCalls: 0,
        reportedTasks: 1,
        usageTasks: 1,
        ruleTasks: 0,
      },
      {
        model: 'n',
        tasks: 2,
        captured: '0.07',
        cost: '0',
        margin: '0',
        tasksBelowCost: 0,
        unknownTasks: 1,
        unknownCaptured: '0.07',
        textCalls: 0,
        reportedTasks: 0,
        usageTasks: 0,
        ruleTasks: 1,
      },
    ]);
  });

  it('are grouped by day, upstream and account, each day in UTC', async () => {
    const short = ({ rows }: Awaited<ReturnType<typeof report>>) =>
      rows.map(({ day, upstream, account, tasks, margin }) => [day ?? upstream ?? account, tasks, margin]);

    assert.deepEqual(short(await report(['day'], '2026-11-03')), [
      ['2026-11-01', 2, '0'],
      ['2026-11-02', 2, '0'],
      ['2026-11-03', 1, '0'],
    ]);
    assert.deepEqual(short(await report(['upstream'])), [
      ['one', 3, '0.02'],
      ['two', 1, '-0.02'],
    ]);
    assert.deepEqual(short(await report(['account'], '2026-11-01')), [['acc_1', 2, '0']]);
    assert.equal((await report(['upstream'])).total.margin, '0');
  });
});
