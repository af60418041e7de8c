/**
 * A proxy between the command line and the api that loses what a test wants lost: whole answers after the service has
 * done its work, or an event stream behind its first events.
 */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LossyProxy {
  readonly url: string;
  /** `POST /v1/tasks` whose answers are still to be lost. */
  answersToLose: number;
  /** Event streams that are still to be cut after what came first. */
  streamsToCut: number;
  /** How many event streams were asked for, each with its `Last-Event-ID`. */
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
        // All of it has come: the service has done what it was asked for.
        response.resume().once('end', () => incoming.socket.destroy());
        return;
      }
      answer.writeHead(response.statusCode ?? 502, response.headers);
      answer.flushHeaders();
      response.on('data', (chunk: Buffer) => {
        const isCut = isStream && proxy.streamsToCut > 0;
        if (isCut) proxy.streamsToCut--;
        answer.write(chunk, () => {
          if (isCut) incoming.socket.destroy();
        });
      });
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
