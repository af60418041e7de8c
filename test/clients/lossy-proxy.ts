/**
 * A proxy between the command line and the api that loses what a test chooses: whole responses after the service has
 * done its work, or the rest of an event stream after its first events.
 */
import { createServer, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** With what precedes it; comments have no id. */
const ONE_EVENT = /^[^]*?^id:[^]*?\n\n/m;

export interface LossyProxy {
  readonly url: string;
  /** How many `POST /v1/tasks` responses are still to be lost. */
  answersToLose: number;
  /** Event streams that are still to be cut after the first event of each, however many came with it. */
  streamsToCut: number;
  /** The event streams that were requested, each with its `Last-Event-ID`. */
  readonly streams: (string | undefined)[];
  stop(): Promise<void>;
}

/** @param target scheme, host and port of the api. */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const streams: (string | undefined)[] = [];
  const server = createServer((incoming, answer) => {
    const isStream = incoming.headers.accept === 'text/event-stream' && incoming.method === 'GET';
    if (isStream) streams.push(incoming.headers['last-event-id']?.toString());
    const { hostname, port } = new URL(target);
    const { method, headers, url: path } = incoming;
    const outgoing = request({ hostname, port, method, path, headers }, (response) => {
      if (method === 'POST' && path === '/v1/tasks' && proxy.answersToLose > 0) {
        proxy.answersToLose--;
        // All of it has arrived: the service has executed the request.
        response.resume().once('end', () => incoming.socket.destroy());
        return;
      }
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      if (isStream && proxy.streamsToCut > 0) {
        proxy.streamsToCut--;
        cutAfterOneEvent(response, answer);
        return;
      }
      response.on('data', (chunk: Buffer) => answer.write(chunk));
      response.once('end', () => answer.end());
      response.once('error', () => incoming.socket.destroy());
    });
    outgoing.once('error', () => incoming.socket.destroy());
    incoming.pipe(outgoing);
    answer.once('close', () => outgoing.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const proxy: LossyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answersToLose: 0,
    streamsToCut: 0,
    streams,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return proxy;
}

function cutAfterOneEvent(response: IncomingMessage, answer: ServerResponse): void {
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const first = ONE_EVENT.exec(text)?.[0];
    if (first === undefined) return;
    response.pause();
    answer.write(first, () => answer.destroy());
  });
}
