/**
 * Clients that send few requests, so that the machine is not busy with them: how long they wait is what is measured.
 */
import { KeepAliveConnection } from './keep-alive-connection.ts';

export interface HealthyClients {
  readonly port: number;
  readonly apiKey: string;
  readonly clients?: number;
  /** How often each of them sends a request. */
  readonly everyMs?: number;
  /** What is created. */
  readonly model?: string;
}

export interface Healthy {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Not answered, or with a status other than 200. */
  readonly failed: number;
  readonly serverErrors: number;
}

/** Clients at a steady pace, however long the responses take: each creates and reads in turn. */
export async function healthyFor(
  { port, apiKey, clients = 10, everyMs = 100, model = 'bench/swatch' }: HealthyClients,
  seconds: number,
): Promise<Healthy> {
  const latencies: number[] = [];
  let failed = 0;
  let serverErrors = 0;
  const end = performance.now() + seconds * 1_000;
  const common = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${apiKey}\r\n`;
  const body = JSON.stringify({ model, input: { prompt: 'teal' } });
  const create = `POST /v1/tasks HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      let connection = new KeepAliveConnection(port);
      let read = `GET /v1/tasks?size=1 HTTP/1.1\r\n${common}\r\n`;
      await new Promise((resolve) => setTimeout(resolve, (index * everyMs) / clients));
      for (let count = 0; performance.now() < end; count++) {
        const begun = performance.now();
        try {
          const { status, body: answer } = await connection.request(count % 2 === 0 ? create : read);
          latencies.push(performance.now() - begun);
          if (status !== 200) failed += 1;
          else if (count % 2 === 0) read = readOf(answer, common);
          if (status >= 500) serverErrors += 1;
        } catch {
          failed += 1;
          connection = new KeepAliveConnection(port);
        }
        const rest = everyMs - (performance.now() - begun);
        if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
      }
      connection.end();
    }),
  );
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return { requests: latencies.length + failed, p50Ms: at(0.5), p99Ms: at(0.99), failed, serverErrors };
}

function readOf(answer: string, common: string): string {
  const { taskId } = (JSON.parse(answer) as { data: { taskId: string } }).data;
  return `GET /v1/tasks/${taskId} HTTP/1.1\r\n${common}\r\n`;
}

export function describeHealthy({ requests, p50Ms, p99Ms, failed }: Healthy): string {
  return `${requests} healthy requests, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, ${failed} failed`;
}
