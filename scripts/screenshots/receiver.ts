/** A receiver of callbacks. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Receiver {
  /** Its origin. */
  readonly url: string;
  close(): void;
}

/** Accepts callbacks, except those to `/busy`. */
export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(request.url === '/busy' ? 503 : 204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
