/**
 * Runs our workflows on the real server with activities of the test's own, so that a fault happens exactly where a
 * test needs it. The effect of the real activities on the database is tested end to end (test/e2e).
 *
 * One set of workers serves a whole file: each task has its own script, found by its id.
 */
import { randomBytes } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { WorkflowFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { SEARCH_ATTRIBUTE_NAMES, TASK_QUEUES, taskQueueOf } from '../../src/domain/workflow-ids.ts';
import type { QueueName, TaskId } from '../../src/domain/workflow-ids.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import type { Activities, MediaTaskInput, SettleInput } from '../../workflows/contracts.ts';
import { createTestNamespace } from '../support/test-namespace.ts';
import type { TestNamespace } from '../support/test-namespace.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import '../support/quiet-temporal.ts';

/** The installation whose queues its workers serve. */
const INSTALLATION = 'inst_LAB';

/** The activities of one task; those that are not scripted succeed. */
export type Script = Partial<Activities>;

/** One call of an activity, in the order in which the attempts started. */
export interface Call {
  readonly activity: keyof Activities;
  readonly isLocal: boolean;
  readonly attempt: number;
  readonly taskQueue: string;
  readonly input: unknown;
}

export const ONE_OUTPUT = {
  type: 'image',
  objectKey: 'tasks/one/0',
  mimeType: 'image/png',
  sizeBytes: 3,
  sha256: 'ab'.repeat(32),
} as const;

const GOES_WELL: Activities = {
  submitGeneration: () => Promise.resolve({ kind: 'produced' }),
  takeOverRun: () => Promise.resolve({}),
  awaitGeneration: () => Promise.resolve({ kind: 'produced' }),
  recordCancel: () => Promise.resolve(),
  cancelGeneration: () => Promise.resolve({}),
  archiveOutputs: () => Promise.resolve({ kind: 'archived', outputs: [ONE_OUTPUT] }),
  settleTask: (input) => Promise.resolve(verdictOf(input)),
  sendCallback: () => Promise.resolve({ state: 'delivered' }),
  reconcileTasks: () => Promise.resolve({ checked: 3, settled: 2, restarted: 1 }),
  promoteOutput: () => Promise.resolve({ state: 'persistent' }),
  expireOutputs: () =>
    Promise.resolve({ outputs: 3, files: 2, inputs: 4, responses: 5, requested: 1, textCalls: 0, tasks: 0 }),
  sweepObjects: () => Promise.resolve({ deleted: 4 }),
  meterStorage: () => Promise.resolve({ days: 5, returned: 1 }),
};

/** The result of a settlement if the task was not settled before. */
export function verdictOf(input: SettleInput): Awaited<ReturnType<Activities['settleTask']>> {
  return input.status === 'success' ? { status: 'success', reason: null } : { status: 'fail', reason: input.reason };
}

export class WorkflowLab {
  readonly namespace: TestNamespace;
  readonly #scripts = new Map<string, { script: Script; calls: Call[] }>();
  readonly #running: { worker: Worker; finished: Promise<void> }[] = [];

  constructor(namespace: TestNamespace) {
    this.namespace = namespace;
  }

  /** Starts workers; by default for every queue. */
  async startWorkers(queues: readonly QueueName[] = Object.keys(TASK_QUEUES) as QueueName[]): Promise<void> {
    const workflowBundle = await loadWorkflowBundle(silentLogger());
    for (const queue of queues) {
      const worker = await Worker.create({
        connection: this.namespace.connection,
        namespace: this.namespace.name,
        identity: 'test',
        taskQueue: taskQueueOf(queue, INSTALLATION),
        activities: this.#activities(),
        ...(queue === 'media' || queue === 'callbacks' ? { workflowBundle } : {}),
        // A cancelled activity is notified at once.
        maxHeartbeatThrottleInterval: '50 milliseconds',
        shutdownForceTime: '2 seconds',
      });
      this.#running.push({ worker, finished: worker.run() });
    }
  }

  /** Starts a task's workflow as the launcher does. */
  async startTask(
    script: Script = {},
    facts: Partial<Pick<MediaTaskInput, 'route' | 'isUpstream' | 'failsOver' | 'earlierRunId'>> = {},
  ): Promise<LabTask> {
    const taskId = this.#enter(script);
    const input: MediaTaskInput = {
      taskId,
      accountId: 'acct_lab',
      model: 'lab/image',
      queuedSeconds: 60,
      isUpstream: false,
      handlingSeconds: 60,
      archivingSeconds: 60,
      ...facts,
    };
    return this.#start('mediaTask', taskId, taskId, [input]);
  }

  async startCallback(script: Script = {}): Promise<LabTask> {
    const taskId = this.#enter(script);
    return this.#start('deliverCallback', taskId, `callback-${taskId}`, [{ taskId }]);
  }

  /** Starts a workflow that belongs to no task. */
  async startOther(type: OtherWorkflow, script: Script = {}, ...args: unknown[]): Promise<LabTask> {
    this.#scripts.set('', { script, calls: [] });
    return this.#start(type, 'tk-svc-NONE', `${type}-${randomBytes(4).toString('hex')}`, args);
  }

  callsOf(taskId: string): readonly Call[] {
    return this.#scripts.get(taskId)?.calls ?? [];
  }

  async close(): Promise<void> {
    for (const { worker } of this.#running) worker.shutdown();
    await Promise.all(this.#running.map(({ finished }) => finished));
    await this.namespace.close();
  }

  #enter(script: Script): TaskId {
    const taskId: TaskId = `tk-svc-${randomBytes(13).toString('hex').toUpperCase()}`;
    this.#scripts.set(taskId, { script, calls: [] });
    return taskId;
  }

  async #start(type: WorkflowType, taskId: TaskId, workflowId: string, args: unknown[]): Promise<LabTask> {
    const handle = await this.namespace.client.workflow.start(type, {
      workflowId,
      taskQueue: taskQueueOf(type === 'deliverCallback' ? 'callbacks' : 'media', INSTALLATION),
      args,
    });
    return new LabTask(this, taskId, handle);
  }

  #activities(): Activities {
    const scripted = <Name extends keyof Activities>(name: Name): Activities[Name] => {
      const run = async (input?: { readonly taskId: TaskId }): Promise<unknown> => {
        const entry = this.#scripts.get(input?.taskId ?? '');
        const { isLocal, attempt, taskQueue } = Context.current().info;
        entry?.calls.push({ activity: name, isLocal, attempt, taskQueue, input });
        const activity = (entry?.script[name] ?? GOES_WELL[name]) as (input: unknown) => Promise<unknown>;
        return activity(input);
      };
      return run as Activities[Name];
    };
    return {
      submitGeneration: scripted('submitGeneration'),
      takeOverRun: scripted('takeOverRun'),
      awaitGeneration: scripted('awaitGeneration'),
      recordCancel: scripted('recordCancel'),
      cancelGeneration: scripted('cancelGeneration'),
      archiveOutputs: scripted('archiveOutputs'),
      settleTask: scripted('settleTask'),
      sendCallback: scripted('sendCallback'),
      reconcileTasks: scripted('reconcileTasks'),
      promoteOutput: scripted('promoteOutput'),
      expireOutputs: scripted('expireOutputs'),
      sweepObjects: scripted('sweepObjects'),
      meterStorage: scripted('meterStorage'),
    };
  }
}

type OtherWorkflow = 'maintain' | 'promoteOutput' | 'sweepObjects' | 'meterStorage';
type WorkflowType = 'mediaTask' | 'deliverCallback' | OtherWorkflow;

/** One workflow under test. */
export class LabTask {
  readonly taskId: TaskId;
  readonly handle: WorkflowHandle;
  readonly #lab: WorkflowLab;

  constructor(lab: WorkflowLab, taskId: TaskId, handle: WorkflowHandle) {
    this.#lab = lab;
    this.taskId = taskId;
    this.handle = handle;
  }

  get calls(): readonly Call[] {
    return this.#lab.callsOf(this.taskId);
  }

  /** The names of the calls, in order. */
  get callNames(): readonly string[] {
    return this.calls.map((call) => call.activity);
  }

  /** The requested results, one for each attempt to settle the task. */
  get settlements(): readonly SettleInput[] {
    return this.calls.filter((call) => call.activity === 'settleTask').map((call) => call.input as SettleInput);
  }

  result(): Promise<unknown> {
    return this.handle.result();
  }

  /** Waits for the end of a workflow that is to fail. @returns its failure. */
  async failure(): Promise<Error> {
    try {
      await this.handle.result();
    } catch (error) {
      if (error instanceof WorkflowFailedError && error.cause !== undefined) return error.cause;
      throw error;
    }
    throw new Error('the workflow did not fail');
  }

  /** Our own attributes, which operators search by; the server adds some of its own. */
  searchAttributes(): Promise<Readonly<Record<string, unknown>>> {
    return searchAttributesOf(this.handle);
  }

  /** Waits until the history has an event that satisfies the condition. */
  waitForEvent(condition: (event: HistoryEvent) => boolean): Promise<void> {
    return waitFor('the history has the event', async () => {
      const { events } = await this.handle.fetchHistory();
      return events?.some(condition) === true;
    });
  }
}

/** The current values of our own search attributes of a workflow. */
async function searchAttributesOf(handle: WorkflowHandle): Promise<Readonly<Record<string, unknown>>> {
  const { typedSearchAttributes } = await handle.describe();
  const pairs = typedSearchAttributes.getAll().map((pair) => [pair.key.name, pair.value] as const);
  return Object.fromEntries(pairs.filter(([name]) => (SEARCH_ATTRIBUTE_NAMES as readonly string[]).includes(name)));
}

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

/** Opens a lab without workers; the caller closes it. */
export async function openLab(): Promise<WorkflowLab> {
  return new WorkflowLab(await createTestNamespace());
}

/** A point that an activity reaches and a test waits for. */
export class Milestone {
  #reach: () => void = () => {};
  readonly reached = new Promise<void>((resolve) => {
    this.#reach = resolve;
  });

  reach(): void {
    this.#reach();
  }
}

/** Works until it is cancelled, like a long activity: heartbeats, and ends with its cancellation. */
export async function workUntilCancelled(started: Milestone): Promise<never> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 50);
  context.heartbeat();
  started.reach();
  try {
    return await context.cancelled;
  } finally {
    clearInterval(beat);
  }
}
