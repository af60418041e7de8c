/**
 * A client as a careful user writes one, which logs everything: it creates with a key and retries with the same key
 * until it has a response, polls, sometimes cancels, downloads its outputs, keeps or deletes them.
 */
import { createHash } from 'node:crypto';
import type { Random } from '@darkroom/testing/random';
import { isTerminal } from '../records.ts';
import type { ClientLine, TaskAnswer, Wish } from '../records.ts';
import { ask, statusOf, whyOf } from './ask.ts';
import { callInBackground, pause } from './background.ts';
import { runBatch } from './batch.ts';
import { createTask } from './create-task.ts';
import { callText } from './text.ts';
import { drawBackground, drawBatch, drawWish } from './wishes.ts';

export interface ClientOptions {
  readonly account: string;
  readonly apiKey: string;
  readonly apiUrls: readonly string[];
  readonly receiverUrl: string;
  readonly forbiddenUrl: string;
  readonly random: Random;
  readonly record: (line: ClientLine) => void;
  /** No new tasks from then on. */
  readonly storm: AbortSignal;
  /** Pending work stops too: a request that is not answered by then never is. */
  readonly end: AbortSignal;
  readonly focus: Focus;
  readonly pace: Pace;
}

/** Shared by all clients of a campaign. */
export interface Pace {
  /** They wait this many times longer between two tasks. */
  factor: number;
}

/** Special requirements of a campaign with one target. */
export interface Focus {
  readonly words?: string;
  readonly model?: string;
  /** What they do, instead of everything. */
  readonly work?: 'background' | 'batch';
  /** Maximum milliseconds between two tasks. */
  readonly paceMs?: number;
}

const AT_ONCE = 14;
const PACE_MS = 1_100;
const POLL_MS = 700;
const RETRY_MS = 400;
const FORGED_EVERY = 7;
const BACKGROUND_SHARE = 0.1;
const BATCH_SHARE = 0.04;

/** Runs until the storm is over and the outcome of everything it started is known, or until `end`. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { random, storm, focus, pace } = options;
  const running = new Set<Promise<void>>();
  for (let number = 0; !storm.aborted; number++) {
    const work = oneWish(options, number);
    const settled: Promise<void> = work.finally(() => running.delete(settled));
    running.add(settled);
    if (running.size >= AT_ONCE) await Promise.race(running);
    await pause(random.between(50, focus.paceMs ?? PACE_MS) * pace.factor, storm);
  }
  await Promise.all(running);
}

async function oneWish(options: ClientOptions, number: number): Promise<void> {
  const { random, account, focus, record } = options;
  // Drawn before anything is awaited: outside events must not change what is drawn next.
  const isText = focus.model === undefined && random.isWithChance(0.12);
  const drawn = { account, number, forbiddenUrl: options.forbiddenUrl, ...focus };
  const wish = drawWish(random, drawn);
  const work = focus.work ?? drawWork(random, focus);
  const durable = { background: drawBackground(random, drawn), batch: drawBatch(random, drawn) };
  const plan = {
    isTwin: random.isWithChance(0.2),
    givesUp: random.isWithChance(0.05),
    cancelAfterMs: random.isWithChance(0.12) ? random.between(0, 4_000) : undefined,
    afterwards: random.pick(['nothing', 'nothing', 'nothing', 'promote', 'delete'] as const),
  };
  if (number % 10 === 0) await lookAtBalance(options);
  if (work === 'background') return callInBackground(options, durable.background, number);
  if (work === 'batch') return runBatch(options, durable.batch, number);
  if (isText) {
    await callText({ ...options, apiUrl: apiOf(options, number), marker: wish.marker, ways: random.between(0, 99) });
    return;
  }
  const taskId = await create(options, wish, number, plan);
  if (taskId === undefined) return;
  if (number % FORGED_EVERY === 0) await forgeHook(options, taskId, number);
  const task = await follow(options, wish, taskId, number, plan.cancelAfterMs);
  if (task?.status !== 'success') return;
  for (const output of task.output ?? []) record(await download(taskId, output.id, output.url));
  const ids = (task.output ?? []).map(({ id }) => id);
  if (plan.afterwards === 'nothing' || ids.length === 0) return;
  const change = { method: 'POST', url: `${apiOf(options, number)}/v1/storages/${plan.afterwards}`, body: ids };
  const { begun, ended, outcome } = await ask({ ...change, key: options.apiKey });
  record({ kind: plan.afterwards, account, taskId, begun, ended, outcome });
}

/** What no connection waits for is a part of the load unless a campaign has one target. */
function drawWork(random: Random, { model, words }: Focus): Focus['work'] | undefined {
  const share = random.next();
  if (model !== undefined || words !== undefined) return undefined;
  if (share < BACKGROUND_SHARE) return 'background';
  return share < BACKGROUND_SHARE + BATCH_SHARE ? 'batch' : undefined;
}

/** @returns the task, once an attempt was answered with it; undefined: rejected, or never answered. */
async function create(
  options: ClientOptions,
  wish: Wish,
  number: number,
  plan: { readonly isTwin: boolean; readonly givesUp: boolean },
): Promise<string | undefined> {
  const attempt = (count: number): ReturnType<typeof createTask> => createTask(options, wish, count, number + count);
  for (let count = 0; !options.end.aborted; count += 2) {
    const answers = await Promise.all(plan.isTwin ? [attempt(count), attempt(count + 1)] : [attempt(count)]);
    const accepted = answers.find(({ taskId }) => taskId !== undefined);
    if (accepted !== undefined) return accepted.taskId;
    const isRejected = answers.every(({ status }) => status >= 400 && status < 500 && status !== 429 && status !== 409);
    if (isRejected || plan.givesUp) return undefined;
    await pause(RETRY_MS, options.end);
  }
  return undefined;
}

async function follow(
  options: ClientOptions,
  wish: Wish,
  taskId: string,
  number: number,
  cancelAfterMs: number | undefined,
): Promise<TaskAnswer | undefined> {
  const { account, apiKey: key, record, end } = options;
  const since = Date.now();
  let isCancelled = cancelAfterMs === undefined;
  for (let look = number; !end.aborted; look++) {
    if (!isCancelled && Date.now() - since >= (cancelAfterMs ?? 0)) {
      const url = `${apiOf(options, look)}/v1/tasks/${taskId}/cancel`;
      const { begun, ended, outcome } = await ask({ method: 'POST', url, key });
      record({ kind: 'cancel', account, taskId, begun, ended, outcome });
      isCancelled = statusOf(outcome) === 200;
    }
    const task = await readTask(options, taskId, look);
    // A task can be lost with the database's last commits although its id was returned: creating it again restores
    // it.
    if (task === 'gone') {
      if ((await create(options, wish, look, { isTwin: false, givesUp: false })) === undefined) return undefined;
    } else if (task !== undefined && isTerminal(task.status)) {
      // Once more from the other api, later: a terminal answer never changes.
      await pause(POLL_MS, end);
      await readTask(options, taskId, look + 1);
      return task;
    }
    await pause(POLL_MS, end);
  }
  return undefined;
}

async function readTask(
  options: ClientOptions,
  taskId: string,
  index: number,
): Promise<TaskAnswer | 'gone' | undefined> {
  const { account, apiKey: key, record } = options;
  const answer = await ask({ url: `${apiOf(options, index)}/v1/tasks/${taskId}`, key });
  const { begun, ended, outcome } = answer;
  const task = statusOf(outcome) === 200 ? (answer.data as TaskAnswer) : undefined;
  record({ kind: 'read', account, taskId, begun, ended, outcome, ...(task === undefined ? {} : { task }) });
  return statusOf(outcome) === 404 ? 'gone' : task;
}

/** A forged provider callback from a party that knows the task's id. */
async function forgeHook(options: ClientOptions, taskId: string, number: number): Promise<void> {
  const url = `${apiOf(options, number)}/hooks/unkeyed-replicate/${taskId}.${'A'.repeat(22)}`;
  const { begun, ended, outcome } = await ask({ method: 'POST', url, key: 'none', body: { status: 'succeeded' } });
  options.record({ kind: 'forge', account: options.account, taskId, begun, ended, outcome });
}

async function lookAtBalance(options: ClientOptions): Promise<void> {
  const { account, apiKey: key, record } = options;
  const answer = await ask({ url: `${apiOf(options, 0)}/v1/account`, key });
  const { begun, ended, outcome } = answer;
  const available = statusOf(outcome) === 200 ? (answer.data as { available: string }).available : undefined;
  record({ kind: 'balance', account, begun, ended, outcome, ...(available === undefined ? {} : { available }) });
}

const DOWNLOAD_TIMEOUT_MS = 10_000;

/** Downloads a file once, completely. */
export async function download(taskId: string, outputId: string, url: string): Promise<ClientLine> {
  const begun = Date.now();
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
    const bytes = Buffer.from(await response.arrayBuffer());
    const outcome = { kind: 'answer', status: response.status, errorCode: '' } as const;
    const line = { kind: 'download', taskId, outputId, begun, ended: Date.now(), outcome } as const;
    if (response.status !== 200) return line;
    return { ...line, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    const outcome = { kind: 'unknown', why: whyOf(error) } as const;
    return { kind: 'download', taskId, outputId, begun, ended: Date.now(), outcome };
  }
}

function apiOf({ apiUrls }: ClientOptions, index: number): string {
  return apiUrls[index % apiUrls.length] ?? '';
}
