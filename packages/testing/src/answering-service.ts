/** A server that answers each request with the next of the given answers: the far end, where a real one never errs. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
}

/** One for each request, the last for all that follow. */
export type Answer = (...listener: Parameters<RequestListener>) => void;

export async function startService(...answers: readonly Answer[]): Promise<Service> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      const answer = answers[Math.min(received.length, answers.length - 1)];
      received.push({ method, url, headers, body });
      answer?.(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A response of the API. */
export function ok(data: unknown): Answer {
  return (_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ code: 200, message: 'success', data, error_code: '' }));
  };
}

export function rejected(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'X-Request-Id': 'req_test', ...headers });
    response.end(JSON.stringify({ code: status, message: `rejected: ${status}`, data: null, error_code: code }));
  };
}

/** A connection that breaks before a response. */
export const broken: Answer = (request) => void request.socket.destroy();

/** No response at all. */
export const silent: Answer = () => undefined;
