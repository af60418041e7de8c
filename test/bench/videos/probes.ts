/**
 * What a client of the api experiences under other load: it creates a small task now and then, reads one more often,
 * each over a keep-alive connection, and measures the time of every response.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { KeepAliveConnection } from '../load/keep-alive-connection.ts';
import { median } from '../measures.ts';

/** Little load, the same whatever else is running. */
const READ_EVERY_MS = 50;
const CREATE_EVERY_MS = 250;

/** Milliseconds. */
export interface Latency {
  readonly requests: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

export interface ProbeResult {
  readonly read: Latency;
  readonly create: Latency;
}

export interface Probes {
  /** Stops probing. */
  stop(): Promise<ProbeResult>;
}

/** Starts probing. @param created receives the id of each task that is created. */
export async function startProbes(port: number, apiKey: string, created: (taskId: string) => void): Promise<Probes> {
  const common = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\n`;
  const body = `{"model":"bench/swatch","input":{"prompt":"teal"}}`;
  const post =
    `POST /v1/tasks HTTP/1.1\r\n${common}Content-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  const stopping = new AbortController();
  let latest = '';

  const probe = async (everyMs: number, request: () => string, answered: (text: string) => void): Promise<Latency> => {
    const connection = new KeepAliveConnection(port);
    const latencies: number[] = [];
    do {
      const begun = performance.now();
      const { status, body } = await connection.request(request());
      latencies.push(performance.now() - begun);
      if (status !== 200) throw new Error(`the api answered ${status}: ${body}`);
      answered(body);
      await sleep(everyMs);
    } while (!stopping.signal.aborted);
    return latencyOf(latencies);
  };
  const takeId = (text: string): void => {
    latest = (JSON.parse(text) as { data: { taskId: string } }).data.taskId;
    created(latest);
  };

  // The read probe needs a task to read.
  const first = await new KeepAliveConnection(port).request(post);
  if (first.status !== 200) throw new Error(`the api answered ${first.status}: ${first.body}`);
  takeId(first.body);
  const probing = Promise.all([
    probe(
      READ_EVERY_MS,
      () => `GET /v1/tasks/${latest} HTTP/1.1\r\n${common}\r\n`,
      () => {},
    ),
    probe(CREATE_EVERY_MS, () => post, takeId),
  ]);
  // `stop` reports a failure to its caller.
  probing.catch(() => {});
  return {
    async stop() {
      stopping.abort();
      const [read, create] = await probing;
      return { read, create };
    },
  };
}

function latencyOf(latencies: readonly number[]): Latency {
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    requests: sorted.length,
    medianMs: median(sorted),
    p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0,
  };
}
