/** A party between Darkroom and a receiver: forwards every byte and header as it came, or altered by a test. */
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Delivery } from './verification-cases.ts';

export interface AlteringRelay {
  /** `http://127.0.0.1:<port>`; `EGRESS_ALLOW` accepts it in this form. */
  readonly url: string;
  /** Alters the next deliveries. */
  alter: (delivery: Delivery) => Delivery;
  /** The last delivery, as Darkroom sent it. */
  last: Delivery | undefined;
  stop(): void;
}

/** Headers of the connection itself: every hop sets its own. */
const OF_CONNECTION = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive']);

/** @param port the receiver's, on the loopback. */
export async function startAlteringRelay(port: number): Promise<AlteringRelay> {
  const server = createServer((request, response) => {
    void (async () => {
      relay.last = { headers: headersOf(request), body: await buffer(request) };
      const { headers, body } = relay.alter(relay.last);
      const onward = send({ port, host: '127.0.0.1', method: 'POST', path: '/', agent: false });
      for (const [name, value] of Object.entries(headers))
        onward.setHeader(name, Buffer.from(value, 'utf8').toString('latin1'));
      onward.setHeader('Content-Length', body.length);
      onward.end(body);
      const [answer] = (await once(onward, 'response')) as [IncomingMessage];
      const reply = await buffer(answer);
      response.writeHead(answer.statusCode ?? 502).end(reply);
    })().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay: AlteringRelay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    alter: (delivery) => delivery,
    last: undefined,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
  return relay;
}

function headersOf({ rawHeaders }: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!OF_CONNECTION.has(name.toLowerCase())) headers[name] = value;
  }
  return headers;
}
