/**
 * What a client does when all is over and it finds that a task is gone whose id it received: it creates it again with
 * the same key (docs/decisions/0037). It only checks tasks that may have been lost; others that are gone are left to
 * the invariants.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { mayBeUndone } from '../losses.ts';
import type { Loss } from '../losses.ts';
import { isAccepted } from '../records.ts';
import type { ClientLine } from '../records.ts';
import { ask, statusOf } from './ask.ts';
import { createTask } from './create-task.ts';
import type { CreateAttempt } from './create-task.ts';

export interface RepeatOptions extends CreateAttempt {
  readonly account: string;
  /** Everything that clients have logged. */
  readonly lines: readonly ClientLine[];
  readonly losses: readonly Loss[];
}

const ATTEMPTS = 10;
const READS = 60;
const RETRY_MS = 500;

/** Retries when it has to wait or gets no response: only a response says whether a task exists. */
async function isGone(url: string, key: string): Promise<boolean> {
  for (let attempt = 0; attempt < READS; attempt++) {
    const status = statusOf((await ask({ url, key })).outcome);
    if (status === 404) return true;
    if (status === 200) return false;
    await sleep(RETRY_MS);
  }
  throw new Error(`${url} is not answered`);
}

/** @returns how many were created again. */
export async function repeatLostKeys(options: RepeatOptions): Promise<number> {
  const { account, lines, losses, apiUrls, apiKey: key } = options;
  const lost = new Map(
    lines
      .filter(isAccepted)
      .filter((line) => line.account === account && mayBeUndone(line, losses))
      .map((line) => [line.taskId, line] as const),
  );
  let count = 0;
  for (const [taskId, line] of lost) {
    if (!(await isGone(`${apiUrls[0]}/v1/tasks/${taskId}`, key))) continue;
    count += 1;
    const { account: owner, key: idempotencyKey, marker, model, prompt, callbackPath } = line;
    const wish = { account: owner, key: idempotencyKey, marker, model, prompt, callbackPath };
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { status } = await createTask(options, wish, attempt, attempt);
      if (status === 200 || status === 402) break;
      await sleep(RETRY_MS);
    }
  }
  return count;
}
