/**
 * The clients of our side: plain HTTP, one keep-alive connection each. A process of its own, so that its work is not
 * counted as the api's.
 *
 * Usage: our-clients.ts <port> <API key>
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeepAliveConnection } from './keep-alive-connection.ts';
import type { HttpAnswer } from './keep-alive-connection.ts';
import { serveOrders } from './window.ts';

/** A single client polls often, so that its latency is the task's; many poll rarely, as the service advises them to. */
const POLL_ALONE_MS = 4;
const POLL_AMONG_MANY_MS = 200;
/** How many of the finished tasks are read in turn. */
const READ_TASKS = 100;

const [port = '', apiKey = ''] = process.argv.slice(2);
const connections: KeepAliveConnection[] = [];
const finished: string[] = [];
let reads = 0;

function connectionOf(client: number): KeepAliveConnection {
  const existing = connections[client];
  if (existing !== undefined && !existing.isClosed) return existing;
  return (connections[client] = new KeepAliveConnection(Number(port)));
}

const COMMON = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\n`;

/** Each create has an Idempotency-Key, as a careful client sends it: the more expensive of the two ways. */
async function create(client: number): Promise<string> {
  const body = `{"model":"bench/swatch","input":{"prompt":"teal"}}`;
  const answer = await connectionOf(client).request(
    `POST /v1/tasks HTTP/1.1\r\n${COMMON}Idempotency-Key: ${randomUUID()}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return (dataOf(answer) as { taskId: string }).taskId;
}

async function read(client: number, taskId: string, head = ''): Promise<string> {
  const answer = await connectionOf(client).request(`GET /v1/tasks/${taskId} HTTP/1.1\r\n${COMMON}${head}\r\n`);
  return answer.status === 200 ? answer.body : String(dataOf(answer));
}

function isFinished(body: string): boolean {
  if (body.includes('"status":"fail"')) throw new Error(`a task failed: ${body}`);
  return body.includes('"status":"success"');
}

function remember(taskId: string): void {
  finished.unshift(taskId);
  finished.splice(READ_TASKS);
}

function dataOf({ status, body }: HttpAnswer): unknown {
  if (status !== 200) throw new Error(`the api answered ${status}: ${body}`);
  return (JSON.parse(body) as { data: unknown }).data;
}

serveOrders({
  async start(client) {
    // Every window starts with this, and what finished before is gone by then.
    finished.length = 0;
    await create(client);
  },
  async read(client) {
    const taskId = finished[reads++ % finished.length];
    if (taskId === undefined) throw new Error('no task has finished yet');
    await read(client, taskId);
  },
  async finish(client, clients) {
    const taskId = await create(client);
    do {
      await sleep(clients === 1 ? POLL_ALONE_MS : POLL_AMONG_MANY_MS);
    } while (!isFinished(await read(client, taskId)));
    remember(taskId);
  },
  async wait(client) {
    const taskId = await create(client);
    while (!isFinished(await read(client, taskId, 'Prefer: wait=30\r\n')));
    remember(taskId);
  },
});
