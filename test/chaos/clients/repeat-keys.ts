/**
 * What a client does when all is over and it finds that a task, a response in the background or a batch is gone whose
 * id it received: it creates it again with the same key (docs/decisions/0005). It only checks those that may have been
 * lost; others that are gone are left to the invariants.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { mayBeUndone } from '../losses.ts';
import type { Loss } from '../losses.ts';
import { isAccepted } from '../records.ts';
import type { ClientLine } from '../records.ts';
import { ask, statusOf } from './ask.ts';
import { createResponse } from './background.ts';
import { createBatch } from './batch.ts';
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
  const created = lines.flatMap((line) =>
    'account' in line && line.account === account && mayBeUndone(line, losses)
      ? (repetitionOf(options, line) ?? [])
      : [],
  );
  let count = 0;
  for (const [path, create] of new Map(created.map((each) => [each.path, each.create]))) {
    if (!(await isGone(`${apiUrls[0]}${path}`, key))) continue;
    count += 1;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { status } = await create(attempt);
      // It cannot be paid any more, or its file is lost.
      if (status === 200 || status === 402 || status === 400) break;
      await sleep(RETRY_MS);
    }
  }
  return count;
}

interface Repetition {
  /** Where what was created is read. */
  readonly path: string;
  readonly create: (attempt: number) => Promise<{ readonly status: number }>;
}

/** @returns undefined: the line created nothing. */
function repetitionOf(options: RepeatOptions, line: ClientLine): Repetition | undefined {
  if (isAccepted(line)) {
    const { account, key, marker, model, prompt, callbackPath, taskId } = line;
    const wish = { account, key, marker, model, prompt, callbackPath };
    return { path: `/v1/tasks/${taskId}`, create: (attempt) => createTask(options, wish, attempt, attempt) };
  }
  if (line.kind === 'background' && line.responseId !== undefined) {
    return { path: `/v1/responses/${line.responseId}`, create: (attempt) => createResponse(options, line, attempt) };
  }
  if (line.kind !== 'batch' || line.batchId === undefined) return undefined;
  return { path: `/v1/batches/${line.batchId}`, create: (attempt) => createBatch(options, line, attempt) };
}
