/**
 * An ordinary client of the account beside its batch: it creates a task at a steady rate, whatever the state of those
 * before, waits until each has succeeded, and repeats with the same key what had no answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestAccount } from '../../support/darkroom.ts';
import { MODEL } from './installation.ts';

const RETRY_MS = 200;
/** A read that waits is answered after this long at the latest. */
const WAIT_SECONDS = 10;
/** A task without an end for this long has none. */
const GIVE_UP_MS = 600_000;

/** A task from the first request to the answer that it has succeeded, in milliseconds of `performance.now()`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface InteractiveLoad {
  /** Creates no more, and waits for those that are open. @throws {Error} a task failed, or had no end. */
  stop(): Promise<readonly Span[]>;
}

/** @param name a part of the keys; no two loads of an account have the same. */
export function startInteractiveLoad({ client }: TestAccount, name: string, perSecond: number): InteractiveLoad {
  const open: Promise<Span>[] = [];
  const create = (): void => {
    const span = runTask(client, `${name}-${open.length}`);
    // Reported by `stop`.
    span.catch(() => {});
    open.push(span);
  };
  create();
  const timer = setInterval(create, 1_000 / perSecond);
  return {
    stop() {
      clearInterval(timer);
      return Promise.all(open);
    },
  };
}

async function runTask(client: TestAccount['client'], key: string): Promise<Span> {
  const from = performance.now();
  const body = { model: MODEL, input: { prompt: 'teal' } };
  const { taskId } = await answered(from, () => client.create(body, key));
  for (;;) {
    const wait = { Prefer: `wait=${WAIT_SECONDS}` };
    const { status } = await answered(from, () => client.send('GET', `/v1/tasks/${taskId}`, undefined, wait));
    if (status === 'fail') throw new Error(`the interactive task ${taskId} failed`);
    if (status === 'success') return { from, to: performance.now() };
  }
}

/** Repeats a request until it has an answer. */
async function answered(from: number, request: () => ReturnType<TestAccount['client']['get']>) {
  for (;;) {
    const answer = await request().catch(() => undefined);
    if (answer?.status === 200) return answer.body.data;
    if (answer !== undefined && answer.status < 500) throw new Error(`rejected: ${JSON.stringify(answer.body)}`);
    if (performance.now() - from > GIVE_UP_MS) throw new Error('an interactive request has no answer');
    await sleep(RETRY_MS);
  }
}
