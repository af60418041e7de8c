/**
 * The clients of the capacity bench, in a process of its own: tasks begin at a steady rate, in turn at every api, and
 * each is waited for by the client that created it. Others wait for tasks that do not end.
 *
 * Usage: clients.ts <API key> <API key of those who only wait> <URL for callbacks> <ports of the apis...>
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeepAliveConnection } from '../load/keep-alive-connection.ts';
import { median } from '../measures.ts';
import { isAmong } from './workload.ts';
import type { Workload } from './workload.ts';

/** What the process is ordered to do. */
export interface CapacityOrder {
  readonly workload: Workload;
  readonly seconds: number;
  /** Tasks that do not end meanwhile, one for each client that only waits. */
  readonly waitsFor: readonly string[];
}

export interface CapacityResult {
  readonly tasks: number;
  /** From the creation to the end, without the time that the upstream works. */
  readonly medianOverheadMs: number;
}

const [apiKey = '', waitingKey = '', callbackUrl = '', ...ports] = process.argv.slice(2);
const idle: KeepAliveConnection[][] = ports.map(() => []);

function head(port: string, key = apiKey): string {
  return `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n`;
}

/** Runs `work` on a connection that no other client uses. */
async function withConnection<T>(api: number, work: (connection: KeepAliveConnection) => Promise<T>): Promise<T> {
  const free = idle[api] ?? [];
  let connection = free.pop();
  if (connection === undefined || connection.isClosed) connection = new KeepAliveConnection(Number(ports[api]));
  const result = await work(connection);
  free.push(connection);
  return result;
}

async function createAndWait(workload: Workload, index: number): Promise<void> {
  const api = index % ports.length;
  const port = ports[api] ?? '';
  const body = JSON.stringify({
    model: isAmong(workload.polledShare, index) ? 'capacity/polled' : 'capacity/answered',
    input: {
      prompt: `a lake [${workload.workSeconds * 1_000} ms] [${Math.ceil(workload.megabytes * 1_000)} kB]`,
    },
    ...(isAmong(workload.callbackShare, index) ? { callback: { url: callbackUrl } } : {}),
  });
  await withConnection(api, async (connection) => {
    const created = await connection.request(
      `POST /v1/tasks HTTP/1.1\r\n${head(port)}Idempotency-Key: ${randomUUID()}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    if (created.status !== 200) throw new Error(`the api answered ${created.status}: ${created.body}`);
    const { taskId } = (JSON.parse(created.body) as { readonly data: { readonly taskId: string } }).data;
    for (;;) {
      const { body: read } = await connection.request(
        `GET /v1/tasks/${taskId} HTTP/1.1\r\n${head(port)}Prefer: wait=30\r\n\r\n`,
      );
      if (read.includes('"status":"success"')) return;
      if (read.includes('"status":"fail"')) throw new Error(`a task failed: ${read}`);
    }
  });
}

async function waitUntil(end: number, taskId: string, index: number): Promise<void> {
  const api = index % ports.length;
  const port = ports[api] ?? '';
  const connection = new KeepAliveConnection(Number(port));
  const request = `GET /v1/tasks/${taskId} HTTP/1.1\r\n${head(port, waitingKey)}Prefer: wait=30\r\n\r\n`;
  const over = new AbortController();
  const waiting = (async () => {
    while (performance.now() < end) {
      // A read still waits when the window is over: it is abandoned with its connection.
      const answer = await Promise.race([connection.request(request), once(over.signal, 'abort')]);
      if (!Array.isArray(answer) && answer.status !== 200) throw new Error(`the api answered ${answer.status}`);
    }
  })();
  await Promise.race([sleep(end - performance.now()), waiting]);
  over.abort();
  connection.end();
}

async function run({ workload, seconds, waitsFor }: CapacityOrder): Promise<CapacityResult> {
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  const waiting = waitsFor.map((taskId, index) => waitUntil(end, taskId, index));
  const overheadsMs: number[] = [];
  const tasks = Array.from({ length: Math.round(workload.perSecond * seconds) }, async (_, index) => {
    const due = begin + (index * 1_000) / workload.perSecond;
    await sleep(due - performance.now());
    await createAndWait(workload, index);
    overheadsMs.push(performance.now() - due - workload.workSeconds * 1_000);
  });
  await Promise.all([...tasks, ...waiting]);
  return { tasks: tasks.length, medianOverheadMs: tasks.length === 0 ? 0 : median(overheadsMs) };
}

process.on('message', (order: CapacityOrder) => {
  run(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? (error.stack ?? '') : String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
