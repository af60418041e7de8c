/** A server of images and a receiver of callbacks whose responses a test decides, one by one, at any time. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { drawImage } from './test-provider/image.ts';

/** @param earlier how many requests of the same path came before. @returns the status of the response. */
export type Answer = (earlier: number) => number | Promise<number>;

/** What a response waits for. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export interface HeldAnswers {
  /** `http://127.0.0.1:<port>`; `EGRESS_ALLOW` accepts it in this form. */
  readonly url: string;
  /** The responses to requests of a path. GET with 200 returns an image; a path without an entry returns 204. */
  readonly answers: Map<string, Answer>;
  /** How many requests of a path arrived. */
  asked(path: string): number;
  /** The maximum number of simultaneously open requests of a path. */
  mostOpen(path: string): number;
  stop(): void;
}

export async function startHeldAnswers(): Promise<HeldAnswers> {
  const image = await drawImage('held');
  const answers = new Map<string, Answer>();
  const counts = new Map<string, { asked: number; open: number; mostOpen: number }>();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const count = counts.get(path) ?? { asked: 0, open: 0, mostOpen: 0 };
    counts.set(path, count);
    const earlier = count.asked++;
    count.mostOpen = Math.max(++count.open, count.mostOpen);
    response.once('close', () => {
      count.open -= 1;
    });
    request.resume();
    void (async () => {
      const status = (await answers.get(path)?.(earlier)) ?? 204;
      if (status === 200) response.writeHead(status, { 'content-type': 'image/png' }).end(image);
      else response.writeHead(status).end();
    })();
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    asked: (path) => counts.get(path)?.asked ?? 0,
    mostOpen: (path) => counts.get(path)?.mostOpen ?? 0,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
