/**
 * The baseline for ours: a minimal proxy between a client and an upstream, `node:http` in front and undici behind,
 * with no keys, no limits, no money and no inspection of what passes.
 *
 * Usage: pass-through.ts <port of the upstream>
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'undici';

const upstream = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: 128 });

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const pass = async (): Promise<void> => {
    const answer = await upstream.request({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
      body: request,
    });
    const { 'content-type': type, 'content-length': length } = answer.headers;
    response.writeHead(answer.statusCode, {
      'Content-Type': String(type),
      ...(length === undefined ? {} : { 'Content-Length': String(length) }),
    });
    await pipeline(answer.body, response);
  };
  pass().catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
