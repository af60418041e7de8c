/** `npm start` on a machine whose environment names a proxy: one that accepts every connection and never responds. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { it } from 'node:test';
import { supervise, temporaryDirectory } from './fixtures/supervised.ts';

it('npm start becomes ready behind a proxy that never responds, and sends it no request', async (t) => {
  const taken: Socket[] = [];
  const proxy = createServer((socket) => taken.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const directory = await temporaryDirectory();
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const names = ['http_proxy', 'https_proxy', 'all_proxy', 'grpc_proxy'];
  const running = supervise(
    path.join(directory, 'data'),
    Object.fromEntries(names.flatMap((name) => [[name, address] as const, [name.toUpperCase(), address] as const])),
  );
  t.after(async () => {
    await running.stop();
    for (const socket of taken) socket.destroy();
    proxy.close();
    await rm(directory, { recursive: true, force: true });
  });

  await running.printed('Stop:  ');

  assert.equal(taken.length, 0);
});
