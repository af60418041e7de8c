/** The served application with what its routes need: a callback receiver that it may reach. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { World } from './route-requests.ts';
import { serveApp } from './serve.ts';
import type { ServeOptions, ServedApp } from './serve.ts';

export interface OpenWorld extends World {
  /** The options for serving another application in the same way. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** @param serve the application; default: the public one alone. */
export async function openWorld(
  serve: (options: ServeOptions) => Promise<{ readonly served: ServedApp; close(): Promise<void> }> = serveAlone,
): Promise<OpenWorld> {
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end());
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  // Every request names a client address of its own (route-requests.ts).
  const environment = { EGRESS_ALLOW: address, TRUSTED_PROXIES: '127.0.0.0/8' };
  const { served, close } = await serve({ environment });
  return {
    served,
    receiverUrl: `${address}/hook`,
    environment,
    async close() {
      await close();
      receiver.closeAllConnections();
      receiver.close();
    },
  };
}

async function serveAlone(options: ServeOptions): Promise<{ served: ServedApp; close(): Promise<void> }> {
  const served = await serveApp(options);
  return { served, close: () => served.close() };
}
