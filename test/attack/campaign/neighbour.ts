/**
 * The account next to the attackers, a process of its own: a client that creates, waits, downloads, lists, uploads
 * and requests text at a steady pace, and logs every request for the invariants. The same lines contain how long each
 * took.
 *
 * Usage: `node dist/test/attack/campaign/neighbour.js --account <name> --key <key> --api <url>,<url> --receiver <url>
 * --log <file> --text <model>`; `{"type":"stop"}` over its channel ends it once the outcome of everything it started
 * is known.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ask, statusOf } from '../../chaos/clients/ask.ts';
import { download } from '../../chaos/clients/client.ts';
import { callText } from '../../chaos/clients/text.ts';
import { openLedger } from '../../chaos/ledger-file.ts';
import { isTerminal } from '../../chaos/records.ts';
import type { ClientLine, TaskAnswer } from '../../chaos/records.ts';
import { TASK_MODELS } from '../../chaos/world/models.ts';

/** From the start of one round to the start of the next. */
const ROUND_MS = 1_000;
const POLL_MS = 500;
/** Longer than any client waits: longer requests still count in the figures. */
const TIMEOUT_MS = 60_000;
/** A text call that is read completely: neither interrupted nor abandoned (clients/text.ts). */
const WHOLE = { stream: 4, plain: 74 };

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { account: text, key: text, api: text, receiver: text, log: text } });
const { account = '', key = '', api = '', receiver = '', log = '' } = values;
const apiUrls = api.split(',');
const record = openLedger<ClientLine>(log);
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let isOver = false;

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
  await Promise.all([task(number), ...others]);
}

async function task(number: number): Promise<void> {
  const marker = `marker-${account}-${number}-`;
  const model = TASK_MODELS[number % TASK_MODELS.length] ?? '';
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
  for (const { id, url } of found.output ?? []) record(await download(taskId, id, url));
}

async function follow(taskId: string, number: number): Promise<TaskAnswer> {
  for (let look = number; ; look++) {
    await sleep(POLL_MS);
    const answer = await ask({ url: `${apiOf(look)}/v1/tasks/${taskId}`, key, timeoutMs: TIMEOUT_MS });
    const { begun, ended, outcome } = answer;
    const found = statusOf(outcome) === 200 ? (answer.data as TaskAnswer) : undefined;
    record({ kind: 'read', account, taskId, begun, ended, outcome, ...(found === undefined ? {} : { task: found }) });
    if (found !== undefined && isTerminal(found.status)) return found;
  }
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

async function run(): Promise<void> {
  const running = new Set<Promise<void>>();
  for (let number = 0; !isOver; number++) {
    const going: Promise<void> = round(number).finally(() => running.delete(going));
    running.add(going);
    await sleep(ROUND_MS);
  }
  await Promise.all(running);
  process.exit(0);
}

process.on('message', ({ type }: { type: string }) => {
  if (type === 'stop') isOver = true;
});
process.once('disconnect', () => process.exit(0));
process.send?.({ type: 'ready' });
void run();
