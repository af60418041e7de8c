/**
 * A proxy that the service trusts, through which every request comes from a different client: limits by address then
 * do not stop a test that sends thousands of requests without a key on purpose.
 */
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AddressProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** @param target the service, whose TRUSTED_PROXIES contains 127.0.0.0/8. */
export async function startAddressProxy(target: string): Promise<AddressProxy> {
  const { hostname, port } = new URL(target);
  let requests = 0;
  const server = createServer((incoming, response) => {
    requests += 1;
    const address = `10.${(requests >> 16) & 255}.${(requests >> 8) & 255}.${requests & 255}`;
    const { method, url: path, rawHeaders } = incoming;
    const headers = [...rawHeaders, 'X-Forwarded-For', address];
    const outgoing = send({ hostname, port, method, path, headers, setHost: false, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
