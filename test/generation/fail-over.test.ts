/**
 * A job that failed at an upstream which says that it does not bill it (docs/decisions/0004): the next upstream of the
 * route gets the task, once, wherever an attempt dies.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPinnedDefinitions } from '../../src/catalogue/pinned-definitions.ts';
import type { Fallback } from '../../src/catalogue/definition.ts';
import type { FailureReason } from '../../src/domain/failure-reason.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { DeadlinePassedError } from '../../src/generation/stopping.ts';
import { submitGeneration } from '../../src/generation/submit.ts';
import { awaitGeneration } from '../../src/generation/wait.ts';
import { ProviderFailure, ProviderRejection } from '../../src/providers/provider.ts';
import type { Submission } from '../../src/providers/provider.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { readWorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { readGeneration } from '../../src/tasks/lifecycle/generations.ts';
import { definition } from '../catalogue/definitions.ts';
import { body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { openGenerationBench } from './contexts.ts';
import type { GenerationBench } from './contexts.ts';
import { scriptedProvider } from './scripted-provider.ts';

const SECONDS = 60;

/** What the upstreams of one task do, by their ids. */
interface Script {
  readonly sent: string[];
  readonly polled: string[];
  submit(upstream: string): Promise<Submission>;
  poll(upstream: string): Promise<never>;
}

describe('a job that failed without a bill', () => {
  const modelOf = (name: string, count: number, fallback?: Fallback) =>
    definition({
      name,
      routes: {
        default: {
          upstreams: ['one', 'two', 'three'].slice(0, count).map((id) => ({
            protocol: 'scripted',
            model: 'images',
            id: `${name.replace('/', '-')}-${id}`,
            concurrency: 1,
          })),
          ...(fallback === undefined ? {} : { fallback }),
        },
      },
    });
  // One for each test that leaves a job behind: the upstreams take one at a time.
  const PAIRS = [
    'acme/pair',
    'acme/fails',
    'acme/recorded',
    'acme/lost',
    'acme/dead',
    'acme/full',
    'acme/busy',
    'acme/over',
  ] as const;
  const models = [
    ...PAIRS.map((name) => modelOf(name, 2, 'unbilled_failure')),
    modelOf('acme/three', 3, 'unbilled_failure'),
    modelOf('acme/alone', 1, 'unbilled_failure'),
    modelOf('acme/refused', 2, 'refused'),
    modelOf('acme/silent', 2),
  ];
  const scripts = new Map<TaskId, Script>();
  let room: TaskRoom;
  let bench: GenerationBench;
  before(async () => {
    room = await openTaskRoom(undefined, { models });
    await createPinnedDefinitions(room.database).pin(models);
    const scriptOf = (taskId: TaskId): Script => scripts.get(taskId) ?? assert.fail('no script');
    const idOf = (id = ''): string => id.split('-').at(-1) ?? '';
    bench = openGenerationBench(room, {
      scripted: scriptedProvider({
        submit({ taskId, upstream }) {
          const script = scriptOf(taskId);
          script.sent.push(idOf(upstream.id));
          return script.submit(idOf(upstream.id));
        },
        poll({ taskId, upstream }) {
          const script = scriptOf(taskId);
          script.polled.push(idOf(upstream.id));
          return script.poll(idOf(upstream.id));
        },
      }),
    });
  });
  after(async () => {
    await bench.close();
    await room.close();
  });

  /** A task whose jobs fail, unless something else is given. */
  async function begin(model: string, changes: Partial<Pick<Script, 'submit' | 'poll'>> = {}, timeoutSeconds?: number) {
    const request = body({ model, ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }) });
    const { taskId } = await room.creator.create(await room.newCaller(), request, undefined);
    const script: Script = {
      sent: [],
      polled: [],
      submit: (upstream) => Promise.resolve({ kind: 'job', jobId: `job-${upstream}` }),
      poll: () => Promise.reject(new ProviderFailure('provider_error', { isUnbilled: true })),
      ...changes,
    };
    scripts.set(taskId, script);
    const input = {
      taskId,
      accountId: 'any',
      model,
      isUpstream: true,
      handlingSeconds: SECONDS,
      archivingSeconds: SECONDS,
    };
    return {
      taskId,
      script,
      submit: () => submitGeneration(bench.context, newAttempt(), input),
      await: (failsOverFrom?: number) =>
        awaitGeneration(bench.context, newAttempt(), failsOverFrom === undefined ? input : { ...input, failsOverFrom }),
      slots: async () => {
        const rows = await room.rows<{ upstream: string }>(
          'SELECT upstream FROM upstream_slots WHERE task_id = $1 ORDER BY upstream',
          taskId,
        );
        return rows.map(({ upstream }) => upstream.split('-').at(-1));
      },
      events: () =>
        room.rows<{ type: string; detail: object }>(
          `SELECT type, detail FROM task_events
            WHERE task_id = $1 AND type IN ('submitted', 'provider_failed', 'provider_refused') ORDER BY seq`,
          taskId,
        ),
    };
  }

  const fails = (reason: FailureReason) => (error: unknown) =>
    error instanceof GenerationFailure && error.isPermanent && error.reason === reason;

  it('goes to the next upstream, which is visible in the timeline, and frees its slot', async () => {
    const task = await begin('acme/pair');

    assert.equal((await task.submit()).upstreamIndex, 0);
    assert.deepEqual(await task.slots(), ['one']);
    assert.deepEqual(await task.await(0), { kind: 'failed' });
    assert.deepEqual(await task.slots(), []);
    assert.equal(await readGeneration(room.database, task.taskId), undefined);
    const second = await task.submit();
    assert.deepEqual([second.kind, second.upstreamIndex, second.jobId], ['job', 1, 'job-two']);
    assert.deepEqual(await task.slots(), ['two']);

    assert.deepEqual(task.script.sent, ['one', 'two']);
    assert.deepEqual(await task.events(), [
      { type: 'submitted', detail: { upstream: 'acme-pair-one' } },
      { type: 'provider_failed', detail: { upstream: 'acme-pair-one', reason: 'provider_error' } },
      { type: 'submitted', detail: { upstream: 'acme-pair-two' } },
    ]);
  });

  it('is the failure of the task at the last upstream', async () => {
    const task = await begin('acme/three');
    for (const upstreamIndex of [0, 1]) {
      await task.submit();
      assert.deepEqual(await task.await(upstreamIndex), { kind: 'failed' });
    }
    await task.submit();

    await assert.rejects(task.await(2), fails('provider_error'));
    assert.deepEqual(task.script.sent, ['one', 'two', 'three']);
    assert.deepEqual(await task.slots(), []);
  });

  it('is the failure of the task where no other upstream may take it', async () => {
    const unbilled = () => Promise.reject(new ProviderFailure('provider_error', { isUnbilled: true }));
    const billed = () => Promise.reject(new ProviderFailure('provider_error'));
    for (const [model, poll, failsOverFrom] of [
      ['acme/alone', unbilled, 0],
      ['acme/refused', unbilled, 0],
      ['acme/silent', unbilled, 0],
      ['acme/fails', billed, 0],
    ] as const) {
      const task = await begin(model, { poll });
      await task.submit();

      await assert.rejects(task.await(failsOverFrom), fails('provider_error'), model);
      assert.equal((await task.events()).length, 1);
    }
  });

  it('is the failure of the task when the input is at fault, whatever the upstream says about its bill', async () => {
    for (const reason of ['content_rejected', 'input_invalid', 'input_unreachable'] as const) {
      const poll = () => Promise.reject(new ProviderFailure(reason, { isUnbilled: true }));
      const task = await begin('acme/fails', { poll });
      await task.submit();

      await assert.rejects(task.await(0), fails(reason));
    }
  });

  it('is not polled again by the next attempt when its failure was recorded and not reported', async () => {
    const task = await begin('acme/recorded');
    await task.submit();
    await task.await(0);

    assert.deepEqual(await task.await(0), { kind: 'failed' });
    assert.deepEqual(task.script.polled, ['one']);
    assert.equal((await task.events()).length, 2);
  });

  it('is not confused with the next job, which the database has lost', async () => {
    const task = await begin('acme/lost');
    await task.submit();
    await task.await(0);
    await task.submit();
    await room.rows('DELETE FROM generations WHERE task_id = $1', task.taskId);
    await room.rows(`DELETE FROM task_events WHERE task_id = $1 AND seq = 5`, task.taskId);

    // Nothing is submitted again: only the history of the run says what became of it, and here there is none.
    await assert.rejects(task.await(1), fails('outcome_unknown'));
  });

  it('is followed by no second submit when the attempt at the next upstream died', async () => {
    const task = await begin('acme/dead', {
      submit: (upstream) =>
        upstream === 'one' ? Promise.resolve({ kind: 'job', jobId: 'job-one' }) : Promise.reject(new Error('killed')),
    });
    await task.submit();
    await task.await(0);
    await assert.rejects(task.submit(), fails('outcome_unknown'));

    await room.rows(
      `UPDATE generations SET updated_at = now() - interval '11 seconds' WHERE task_id = $1`,
      task.taskId,
    );
    await assert.rejects(task.submit(), fails('outcome_unknown'));
    assert.deepEqual(task.script.sent, ['one', 'two']);
  });

  it('waits for a slot at the next upstream while that is full', async () => {
    const other = await begin('acme/full');
    const task = await begin('acme/full');
    await other.submit();
    await other.await(0);
    await other.submit();
    await task.submit();
    await task.await(0);

    assert.equal((await task.submit()).kind, 'waiting');
    assert.deepEqual([await other.slots(), await task.slots()], [['two'], []]);
    await assert.rejects(other.await(1), fails('provider_error'));
    const granted = await task.submit();
    assert.deepEqual([granted.kind, granted.upstreamIndex], ['job', 1]);
    assert.deepEqual([await other.slots(), await task.slots()], [[], ['two']]);
    await assert.rejects(task.await(1), fails('provider_error'));
  });

  it('does not go back to the failed upstream when the next one rejects it', async () => {
    const task = await begin('acme/busy', {
      submit: (upstream) =>
        upstream === 'one'
          ? Promise.resolve({ kind: 'job', jobId: 'job-one' })
          : Promise.reject(new ProviderRejection('provider_unavailable', { retryAfterMs: 1 })),
    });
    await task.submit();
    await task.await(0);

    for (let attempts = 0; attempts < 3; attempts++) await assert.rejects(task.submit(), GenerationFailure);
    assert.deepEqual(task.script.sent, ['one', 'two', 'two', 'two']);
  });

  it('goes nowhere once the task is cancelled, or its deadline has passed', async () => {
    const cancelled = await begin('acme/over');
    await cancelled.submit();
    await cancelled.await(0);
    const { accountId } = await readWorkingTask(room.database, cancelled.taskId);
    await cancelTask(room.database, accountId, cancelled.taskId, 7);
    await assert.rejects(cancelled.submit(), fails('cancelled'));

    const late = await begin('acme/over');
    await late.submit();
    await late.await(0);
    await room.rows(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, late.taskId);
    await assert.rejects(late.submit(), DeadlinePassedError);

    for (const { script } of [cancelled, late]) assert.deepEqual(script.sent, ['one']);
  });
});
