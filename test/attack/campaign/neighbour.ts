/**
 * The account next to the attackers, a process of its own: a client that creates, waits, downloads, lists, uploads,
 * requests text, also in the background, and sends batches at a steady pace, and logs every request for the invariants. The same lines contain how long each
 * took.
 *
 * Usage: `node dist/test/attack/campaign/neighbour.js --account <name> --key <key> --api <url>,<url> --receiver <url>
 * --log <file> --text <model>`; `{"type":"stop"}` over its channel ends it once the outcome of everything it started
 * is known.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ask, statusOf, whyOf } from '../../chaos/clients/ask.ts';
import { download } from '../../chaos/clients/client.ts';
import { callText } from '../../chaos/clients/text.ts';
import { openLedger } from '../../chaos/ledger-file.ts';
import { isTerminal } from '../../chaos/records.ts';
import type { AttemptOutcome, ClientLine, TaskAnswer } from '../../chaos/records.ts';
import { DESCRIBED_MODEL, TASK_MODELS, TEXT_MODEL } from '../../chaos/world/models.ts';

/** From the start of one round to the start of the next. */
const ROUND_MS = 1_000;
const POLL_MS = 500;
/** Short requests are more frequent: the 99th percentile of a few would be the slowest one. */
const LOOK_MS = 100;
/** Longer than any client waits: longer requests still count in the figures. */
const TIMEOUT_MS = 60_000;
/** A text call that is read completely: neither interrupted nor abandoned (clients/text.ts). */
const WHOLE = { stream: 4, plain: 74 };

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { account: text, key: text, api: text, receiver: text, log: text } });
const { account = '', key = '', api = '', receiver = '', log = '' } = values;
const apiUrls = api.split(',');
const record = openLedger<ClientLine>(log);
const MODELS = [...TASK_MODELS, DESCRIBED_MODEL];
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const BATCH_ENDPOINT = '/v1/chat/completions';
let isOver = false;
/** The last task with an output. */
let finished: { readonly taskId: string; readonly output: { readonly id: string; readonly url: string } } | undefined;

const apiOf = (number: number): string => apiUrls[number % apiUrls.length] ?? '';

async function round(number: number): Promise<void> {
  const others: Promise<void>[] = [];
  if (number % 2 === 0) others.push(readBalance(number));
  if (number % 3 === 0) {
    const ways = number % 6 === 0 ? WHOLE.stream : WHOLE.plain;
    const marker = `marker-${account}-text-${number}-`;
    others.push(callText({ account, apiKey: key, apiUrl: apiOf(number), marker, ways, record }));
  }
  if (number % 4 === 0) others.push(list(number));
  if (number % 5 === 0) others.push(upload(number));
  others.push(number % 2 === 0 ? batch(number) : background(number));
  await Promise.all([task(number), ...others]);
}

async function task(number: number): Promise<void> {
  const marker = `marker-${account}-${number}-`;
  const model = MODELS[number % MODELS.length] ?? '';
  const callbackPath = number % 2 === 0 ? `/ok/${marker}` : undefined;
  const wish = { account, key: marker, marker, model, prompt: `${marker} a lake`, callbackPath };
  const created = await ask({
    method: 'POST',
    url: `${apiOf(number)}/v1/tasks`,
    key,
    headers: { 'Idempotency-Key': marker },
    body: {
      model,
      input: { prompt: wish.prompt },
      metadata: { marker },
      ...(callbackPath === undefined ? {} : { callback: { url: `${receiver}${callbackPath}` } }),
    },
    timeoutMs: TIMEOUT_MS,
  });
  const { begun, ended, outcome } = created;
  const taskId = statusOf(outcome) === 200 ? (created.data as { taskId: string }).taskId : undefined;
  const taskFields = taskId === undefined ? {} : { taskId };
  record({ kind: 'create', ...wish, attempt: 0, api: number % apiUrls.length, begun, ended, outcome, ...taskFields });
  if (taskId === undefined) return;
  const found = await follow(taskId, number);
  for (const output of found.output ?? []) {
    record(await download(taskId, output.id, output.url));
    finished = { taskId, output };
  }
}

/** Reads a task that has ended, and now and then its output and the balance. */
async function look(number: number): Promise<void> {
  if (finished === undefined) return;
  const { taskId, output } = finished;
  await read(taskId, number);
  if (number % 5 === 0) await readBalance(number);
  if (number % 5 === 1) record(await download(taskId, output.id, output.url));
}

async function follow(taskId: string, number: number): Promise<TaskAnswer> {
  for (let poll = number; ; poll++) {
    await sleep(POLL_MS);
    const found = await read(taskId, poll);
    if (found !== undefined && isTerminal(found.status)) return found;
  }
}

async function read(taskId: string, number: number): Promise<TaskAnswer | undefined> {
  const answer = await ask({ url: `${apiOf(number)}/v1/tasks/${taskId}`, key, timeoutMs: TIMEOUT_MS });
  const { begun, ended, outcome } = answer;
  const found = statusOf(outcome) === 200 ? (answer.data as TaskAnswer) : undefined;
  record({ kind: 'read', account, taskId, begun, ended, outcome, ...(found === undefined ? {} : { task: found }) });
  return found;
}

async function readBalance(number: number): Promise<void> {
  const answer = await ask({ url: `${apiOf(number)}/v1/account`, key, timeoutMs: TIMEOUT_MS });
  const { begun, ended, outcome, data } = answer;
  const available = statusOf(outcome) === 200 ? (data as { available: string }).available : undefined;
  record({ kind: 'balance', account, begun, ended, outcome, ...(available === undefined ? {} : { available }) });
}

async function list(number: number): Promise<void> {
  const { begun, ended, outcome } = await ask({ url: `${apiOf(number)}/v1/tasks?size=20`, key, timeoutMs: TIMEOUT_MS });
  record({ kind: 'list', account, begun, ended, outcome });
}

async function upload(number: number): Promise<void> {
  const begun = Date.now();
  const response = await fetch(`${apiOf(number)}/v1/files`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/octet-stream' },
    body: PIXEL,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  await response?.arrayBuffer().catch(() => undefined);
  const outcome =
    response === undefined
      ? ({ kind: 'unknown', why: 'no answer' } as const)
      : ({ kind: 'answer', status: response.status, errorCode: '' } as const);
  record({ kind: 'upload', account, begun, ended: Date.now(), outcome });
}

/** A request for JSON that no envelope is around. */
async function askPlainly(url: string, body?: FormData | Readonly<Record<string, unknown>>) {
  const isForm = body instanceof FormData;
  const response = await fetch(url, {
    headers: { Authorization: `Bearer ${key}`, ...(isForm ? {} : { 'Content-Type': 'application/json' }) },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { method: 'POST', body: isForm ? body : JSON.stringify(body) }),
  });
  const json = (await response.json()) as { id?: string; status?: string; error_code?: string };
  return { httpStatus: response.status, ...json };
}

/** Does work that is polled until its status is this one, and records how long that took. */
async function untilEnded(
  kind: 'batch run' | 'background run',
  { path, body, end, number }: { path: string; body: Readonly<Record<string, unknown>>; end: string; number: number },
): Promise<void> {
  const begun = Date.now();
  const over = (outcome: AttemptOutcome): void => record({ kind, account, begun, ended: Date.now(), outcome });
  try {
    let answer = await askPlainly(`${apiOf(number)}${path}`, body);
    const { id } = answer;
    for (let look = number; answer.httpStatus === 200 && answer.status !== end; look++) {
      if (Date.now() - begun > TIMEOUT_MS) return over({ kind: 'unknown', why: `it is still ${answer.status}` });
      await sleep(POLL_MS);
      answer = await askPlainly(`${apiOf(look)}${path}/${id}`);
    }
    over({ kind: 'answer', status: answer.httpStatus, errorCode: answer.error_code ?? '' });
  } catch (error) {
    over({ kind: 'unknown', why: whyOf(error) });
  }
}

async function background(number: number): Promise<void> {
  const body = { model: TEXT_MODEL, input: `marker-${account}-background-${number}- a word`, background: true };
  await untilEnded('background run', { path: '/v1/responses', body, end: 'completed', number });
}

async function batch(number: number): Promise<void> {
  const line = (index: number): string => {
    const messages = [{ role: 'user', content: `marker-${account}-batch-${number}-${index}- a word` }];
    const body = { model: TEXT_MODEL, messages };
    return `${JSON.stringify({ custom_id: `line-${index}`, method: 'POST', url: BATCH_ENDPOINT, body })}\n`;
  };
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([line(0), line(1)]), 'lines.jsonl');
  const file = await askPlainly(`${apiOf(number)}/v1/files`, form).catch(() => undefined);
  const body = { input_file_id: file?.id ?? '', endpoint: BATCH_ENDPOINT, completion_window: '24h' };
  await untilEnded('batch run', { path: '/v1/batches', body, end: 'completed', number });
}

/** Begins one after each interval, whether those before have ended or not. */
async function repeat(everyMs: number, work: (number: number) => Promise<void>): Promise<void> {
  const running = new Set<Promise<void>>();
  for (let number = 0; !isOver; number++) {
    const going: Promise<void> = work(number).finally(() => running.delete(going));
    running.add(going);
    await sleep(everyMs);
  }
  await Promise.all(running);
}

async function run(): Promise<void> {
  await Promise.all([repeat(ROUND_MS, round), repeat(LOOK_MS, look)]);
  process.exit(0);
}

process.on('message', ({ type }: { type: string }) => {
  if (type === 'stop') isOver = true;
});
process.once('disconnect', () => process.exit(0));
process.send?.({ type: 'ready' });
void run();
