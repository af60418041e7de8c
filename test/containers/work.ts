/**
 * Work that is in progress while something happens to the stack: tasks of several modalities, each with a callback and
 * made by a client that repeats its request until there is an answer; and what must hold of them in the end.
 */
import assert from 'node:assert/strict';
import { adminInApi, verifyCharges } from './admin.ts';
import type { RunAdmin } from './admin.ts';
import type { ContainerClient, ContainerTask } from './client.ts';
import type { Engine } from './engine.ts';
import { RECEIVER, callbacksOf, verifyCallback } from './receiver.ts';
import type { Stack } from './stack.ts';

/** The first takes longest: some seconds, so that it is in progress when it is looked at. */
const BODIES: readonly Readonly<Record<string, unknown>>[] = [
  { model: 'darkroom/motion', input: { prompt: 'a forest', duration: 6, resolution: '480p' } },
  { model: 'darkroom/scene', input: { prompt: 'a lighthouse at dusk' } },
  { model: 'darkroom/speech', input: { text: 'The night train departs.', voice: 'slt' } },
  { model: 'darkroom/scene', input: { prompt: 'a harbour in the morning' } },
];

const TERMINAL = ['success', 'fail'];

/** A task, by the key with which its creation may be repeated. */
export interface Work {
  readonly idempotencyKey: string;
  readonly body: unknown;
  readonly taskId: string;
}

/** What the bodies of tasks have besides their model and input. */
const WITH_CALLBACK = { callback: { url: RECEIVER.url } };

/** Creates the tasks. @param name distinguishes them from those of other calls. @param extra what their bodies add. */
export function startWork(
  client: ContainerClient,
  name: string,
  extra: Readonly<Record<string, unknown>> = WITH_CALLBACK,
): Promise<readonly Work[]> {
  return Promise.all(
    BODIES.map(async (media, index) => {
      const body = { ...media, ...extra };
      const idempotencyKey = `${name}-${index}`;
      const { taskId } = await client.createPatiently(body, idempotencyKey);
      return { idempotencyKey, body, taskId };
    }),
  );
}

/** Waits until a task is being worked on. @returns how many of them have not ended. @throws {Error} all have. */
export async function waitUntilInProgress(client: ContainerClient, work: readonly Work[]): Promise<number> {
  const [first] = work;
  assert.ok(first !== undefined);
  await client.waitFor(first.taskId, ({ status }) => status !== 'queued', 0);
  const tasks = await Promise.all(work.map(({ taskId }) => client.readPatiently(taskId, 0)));
  const inProgress = tasks.filter(({ status }) => !TERMINAL.includes(status)).length;
  assert.ok(inProgress > 0, 'everything had ended');
  return inProgress;
}

/**
 * Waits until the tasks have ended. @throws {Error} one of them was lost, failed, was charged more or less than once,
 * has no output or callback, or is made again when its request is repeated.
 */
export async function verifyWork(
  { client, engine, stack }: { readonly client: ContainerClient; readonly engine: Engine; readonly stack: Stack },
  work: readonly Work[],
): Promise<void> {
  await verifyTasks(client, adminInApi(stack), work);
  for (const { taskId } of work) {
    await client.waitFor(taskId, ({ callback }) => callback?.state === 'delivered');
    for (const callback of await callbacksOf(engine, taskId)) verifyCallback(callback);
  }
}

/** The same, of tasks whose callbacks nothing receives. */
export async function verifyTasks(client: ContainerClient, runAdmin: RunAdmin, work: readonly Work[]): Promise<void> {
  for (const { taskId, idempotencyKey, body } of work) {
    const task: ContainerTask = await client.waitFor(taskId, ({ status }) => TERMINAL.includes(status));
    await client.download(task);
    assert.equal((await client.createPatiently(body, idempotencyKey)).taskId, taskId, 'it is made a second time');
  }
  const taskIds = work.map(({ taskId }) => taskId);
  await verifyCharges(runAdmin, taskIds);
}
