/**
 * Many tasks of every kind at once, each marked in its prompt, and the checks when all is quiet: against the
 * provider's own log and the receiver's own log, not against our tables.
 */
import assert from 'node:assert/strict';
import { verifyLedger } from '../../src/billing/verify.ts';
import type { ApiTask } from '../support/api-client.ts';
import type { CallbackReceiver } from '../support/callback-receiver-process.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import type { TestProvider } from '../support/test-provider/process.ts';
import { GIVE_UP_MS, waitFor } from '@darkroom/testing/wait-for';

/** The model of each kind, and whether a submit of it may be sent twice. */
const KINDS = [
  { model: 'darkroom/scene', isRepeatable: true },
  { model: 'test/tasks', isRepeatable: true },
  { model: 'test/replicate', isRepeatable: false },
  { model: 'test/openai', isRepeatable: false },
] as const;

export interface Accepted {
  readonly taskId: string;
  readonly model: string;
  readonly isRepeatable: boolean;
  /** Contained in the prompt, and so in the provider's log. */
  readonly marker: string;
}

/** One create as a careful client sends it: with a key, and repeated until it has a response. */
export async function createOne(
  account: Pick<TestAccount, 'id' | 'client'>,
  receiver: CallbackReceiver,
  round: string,
  index: number,
): Promise<Accepted> {
  const kind = KINDS[index % KINDS.length] ?? KINDS[0];
  const marker = `marker-${round}-${index}-`;
  const body = {
    model: kind.model,
    input: { prompt: `${marker} a lake in the mountains [slow 1500]` },
    callback: { url: `${receiver.url}/ok` },
  };
  const deadline = Date.now() + GIVE_UP_MS;
  for (;;) {
    const answer = await account.client.create(body, `${round}-${index}`).catch(() => undefined);
    if (answer?.status === 200) return { taskId: answer.body.data.taskId, ...kind, marker };
    if (answer !== undefined) assert.ok(answer.status >= 500, `rejected: ${JSON.stringify(answer.body)}`);
    if (Date.now() > deadline) throw new Error('no answer to a create');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Creates `count` tasks, 16 at once. */
export async function createMany(
  account: Pick<TestAccount, 'id' | 'client'>,
  receiver: CallbackReceiver,
  round: string,
  count: number,
): Promise<readonly Accepted[]> {
  const accepted: Accepted[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next < count) accepted.push(await createOne(account, receiver, round, next++));
    }),
  );
  return accepted;
}

export interface TaskCounts {
  readonly terminal: number;
  readonly success: number;
  readonly unknown: number;
  readonly resubmitted: number;
  readonly repeatedCallbacks: number;
}

/** Waits until every task has ended and its callback was received, then checks them. */
export async function validateTasks(
  darkroom: Pick<Darkroom, 'testDatabase'>,
  account: Pick<TestAccount, 'id' | 'client'>,
  accepted: readonly Accepted[],
  provider: TestProvider,
  receiver: CallbackReceiver,
): Promise<TaskCounts> {
  const tasks: ApiTask[] = [];
  for (const { taskId } of accepted) tasks.push(await account.client.waitForTerminal(taskId));

  for (const [index, task] of tasks.entries()) {
    const { isRepeatable, model } = accepted[index] ?? assert.fail();
    if (isRepeatable) assert.equal(task.status, 'success', `${model}: ${JSON.stringify(task)}`);
    else if (task.status === 'fail') assert.equal(task.error?.reason, 'outcome_unknown', JSON.stringify(task));
  }

  const submits = (await provider.readLog()).filter((line) => line.kind === 'submit');
  const submitsOf = (marker: string): number => submits.filter((line) => line.prompt?.includes(marker)).length;
  for (const { marker, model } of accepted) {
    assert.ok(submitsOf(marker) <= 1, `${model} ${marker}: the provider took it ${submitsOf(marker)} times`);
  }

  const received = await callbacksOf(receiver, accepted);
  const repeated = [...received.values()].filter((count) => count > 1).length;
  for (const [taskId, count] of received) assert.ok(count <= 2, `${taskId} was called back ${count} times`);

  const violations = await verifyLedger(darkroom.testDatabase.database);
  assert.deepEqual(violations, []);
  const [money] = await darkroom.testDatabase.database.query<{ held: bigint; running: number; queued: number }>(
    {
      name: 'test_counters',
      text: 'SELECT held_micro_usd AS held, running, queued FROM account_counters WHERE account_id = $1',
    },
    [account.id],
  );
  assert.deepEqual(money, { held: 0n, running: 0, queued: 0 });

  return {
    terminal: tasks.length,
    success: tasks.filter((task) => task.status === 'success').length,
    unknown: tasks.filter((task) => task.error?.reason === 'outcome_unknown').length,
    resubmitted: accepted.filter(({ marker }) => submitsOf(marker) > 1).length,
    repeatedCallbacks: repeated,
  };
}

/** The interval between two reads of the receiver's log, which is read completely. */
const LOG_POLL_MS = 250;

/** How many callbacks each task had, once every one had at least one. */
async function callbacksOf(receiver: CallbackReceiver, accepted: readonly Accepted[]): Promise<Map<string, number>> {
  let counts = new Map<string, number>();
  const missing = (): readonly string[] => [...counts].flatMap(([taskId, count]) => (count === 0 ? [taskId] : []));
  await waitFor(
    () => `every task is called back; these are not: ${missing().join(', ')}`,
    async () => {
      counts = new Map(accepted.map(({ taskId }) => [taskId, 0]));
      for (const { body } of await receiver.readLog()) {
        const { taskId } = JSON.parse(body) as { taskId: string };
        const count = counts.get(taskId);
        if (count !== undefined) counts.set(taskId, count + 1);
      }
      return missing().length === 0;
    },
    LOG_POLL_MS,
  );
  return counts;
}
