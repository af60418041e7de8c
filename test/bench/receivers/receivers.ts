/**
 * Misbehaving receivers, in a process of their own: the path says what each does. Reports its ports when it is ready.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** The message that it sends. */
export interface ReceiverPorts {
  readonly http: number;
  /** The port where TLS breaks. */
  readonly tls: number;
}

const DRIP_INTERVAL_MS = 100;
const HUGE_BYTES = 1_000_000_000;
const PIECE = Buffer.alloc(65_536, 'x');

function pour(response: ServerResponse): void {
  let left = HUGE_BYTES;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= PIECE.length;
      if (!response.write(PIECE)) return;
    }
    response.end();
  };
  response.writeHead(200, { 'content-length': Math.ceil(HUGE_BYTES / PIECE.length) * PIECE.length });
  response.on('drain', more);
  more();
}

const http = createServer((request, response) => {
  request.resume();
  request.on('error', () => undefined);
  request.on('end', () => {
    switch (request.url) {
      case '/drip': {
        response.writeHead(200);
        const drip = setInterval(() => response.write('.'), DRIP_INTERVAL_MS);
        response.once('close', () => clearInterval(drip));
        return;
      }
      case '/hang':
        return;
      case '/reset':
        request.socket.resetAndDestroy();
        return;
      case '/redirect':
        response.writeHead(302, { location: '/ok' }).end();
        return;
      case '/huge':
        pour(response);
        return;
      default:
        response.writeHead(204).end();
    }
  });
});

const tls = createTcpServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end('this is no TLS'));
});

http.listen(0, '127.0.0.1');
tls.listen(0, '127.0.0.1');
await Promise.all([once(http, 'listening'), once(tls, 'listening')]);
process.once('disconnect', () => process.exit(0));
const ports: ReceiverPorts = { http: (http.address() as AddressInfo).port, tls: (tls.address() as AddressInfo).port };
process.send?.(ports);
