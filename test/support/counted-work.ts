/**
 * One piece of work of each kind, done alone in a namespace without schedules, so that whatever the server counts
 * meanwhile belongs to it.
 */
import assert from 'node:assert/strict';
import { callbackWorkflowId, taskQueueOf } from '../../src/domain/workflow-ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { startDarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from './darkroom-with-upstreams.ts';
import type { TestAccount } from './darkroom.ts';
import { actionsBetween, readActions, readHistories } from './temporal-actions.ts';
import type { Actions, HistorySize } from './temporal-actions.ts';

/** What one piece of work took. */
export interface CountedWork extends HistorySize {
  /** Without what Temporal Cloud does not bill. */
  readonly actions: number;
  /** How many of them are heartbeats: the only ones that depend on the time that an activity takes. */
  readonly heartbeats: number;
  /** By the names that the server gives them. */
  readonly byType: Actions;
}

interface Kind {
  readonly title: string;
  /** Whether an upstream does the work, for as long as requested. */
  readonly isUpstream: boolean;
  /** Does the work. @returns the workflows that it consisted of. */
  run(world: DarkroomWithUpstreams, account: TestAccount, workMs: number): Promise<readonly string[]>;
}

async function runTask(
  world: DarkroomWithUpstreams,
  account: TestAccount,
  body: Parameters<DarkroomWithUpstreams['create']>[1],
): Promise<TaskId> {
  const taskId = (await world.create(account, body)) as TaskId;
  const { status } = await account.client.waitForTerminal(taskId);
  assert.equal(status, 'success');
  return taskId;
}

const image = (model: string, prompt: string) => ({ model, input: { prompt } });

/** Every kind, by the name in the table of docs/operations/temporal.md. */
export const KINDS: Readonly<Record<string, Kind>> = {
  synchronous: {
    title: 'upstream that answers with the result',
    isUpstream: true,
    run: async (world, account, workMs) => [
      await runTask(world, account, image('test/openai', `a lake [slow ${workMs}]`)),
    ],
  },
  callback: {
    title: 'the same, with a callback',
    isUpstream: true,
    async run(world, account, workMs) {
      const taskId = await runTask(world, account, {
        ...image('test/openai', `a lake [slow ${workMs}]`),
        callback: { url: `${world.receiver.url}/ok/counted` },
      });
      await account.client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
      return [taskId, callbackWorkflowId(taskId)];
    },
  },
  polled: {
    title: 'job that is polled',
    isUpstream: true,
    run: async (world, account, workMs) => [
      await runTask(world, account, image('test/tasks', `a lake [slow ${workMs}]`)),
    ],
  },
  hook: {
    title: 'job whose provider calls back',
    isUpstream: true,
    run: async (world, account, workMs) => [
      await runTask(world, account, image('test/replicate', `a lake [slow ${workMs}]`)),
    ],
  },
  embedded: {
    title: 'embedded engine',
    isUpstream: false,
    run: async (world, account) => [await runTask(world, account, image('darkroom/scene', 'a lake'))],
  },
  cancelled: {
    title: 'polled job, cancelled while it runs',
    isUpstream: true,
    async run(world, account, workMs) {
      const marker = `cancelled ${account.id}`;
      const taskId = await world.create(account, image('test/tasks', `${marker} [slow ${workMs * 100 + 60_000}]`));
      await world.waitForProvider(marker, 'poll');
      await account.client.send('POST', `/v1/tasks/${taskId}/cancel`);
      assert.equal((await account.client.waitForTerminal(taskId)).error?.code, 'TASK_CANCELLED');
      return [taskId];
    },
  },
};

/** Counts work. Pieces are counted one after the other. */
export class WorkCounter {
  readonly #world: DarkroomWithUpstreams;
  readonly #metricsUrl: string;
  /** What was counted by the end of the last piece of work. */
  #last: Actions | undefined;

  private constructor(world: DarkroomWithUpstreams, metricsUrl: string) {
    this.#world = world;
    this.#metricsUrl = metricsUrl;
  }

  /** @param metricsUrl of the server at which the tests' Darkroom works. */
  static async start(metricsUrl: string): Promise<WorkCounter> {
    const world = await startDarkroomWithUpstreams();
    const { temporal, installationId } = world.darkroom;
    // Their passes would be counted with whatever is done at the same time.
    await Promise.all(scheduleIds(installationId).map((id) => temporal.schedule.getHandle(id).delete()));
    return new WorkCounter(world, metricsUrl);
  }

  async count({ run }: Kind, workMs: number): Promise<CountedWork> {
    const account = await this.#world.darkroom.createAccount();
    return this.#count(() => run(this.#world, account, workMs));
  }

  /** Counts one pass of the maintenance of every minute, without the three actions of its schedule. */
  async countMaintenance(): Promise<CountedWork> {
    const { temporal, installationId } = this.#world.darkroom;
    const workflowId = `${installationId}-counted`;
    return this.#count(async () => {
      const taskQueue = taskQueueOf('media', installationId);
      await temporal.workflow.start('maintain', { workflowId, taskQueue, args: [] });
      return [workflowId];
    });
  }

  async #count(work: () => Promise<readonly string[]>): Promise<CountedWork> {
    const { temporal, namespace } = this.#world.darkroom;
    const before = this.#last ?? (await readActions(this.#metricsUrl, namespace));
    const workflowIds = await work();
    const { unbilledUpserts, ...size } = await readHistories(temporal, workflowIds);
    this.#last = await readActions(this.#metricsUrl, namespace);
    const counted = new Map(actionsBetween(before, this.#last));
    const upserts = (counted.get(UPSERT) ?? 0) - unbilledUpserts;
    assert.ok(upserts >= 0, 'the metric has the upserts of the histories');
    if (upserts > 0) counted.set(UPSERT, upserts);
    else counted.delete(UPSERT);
    const actions = [...counted.values()].reduce((sum, count) => sum + count, 0);
    return { ...size, actions, heartbeats: counted.get(HEARTBEAT) ?? 0, byType: counted };
  }

  stop(): Promise<void> {
    return this.#world.stop();
  }
}

/** The server counts those of `TemporalChangeVersion` too, which Temporal Cloud does not bill. */
const UPSERT = 'command_UpsertWorkflowSearchAttributes';
const HEARTBEAT = 'grpc_RecordActivityTaskHeartbeat';
