/**
 * The connections of a whole Darkroom: every socket of its api and its worker is recorded while clients and a
 * provider name URLs, some of which are allowed and some not. (Temporal's own core connects natively, to the one
 * address that it is given.)
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { packageFile } from '../../src/config/package-root.ts';
import { startDarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { DarkroomWithUpstreams } from '../support/darkroom-with-upstreams.ts';
import type { TestAccount } from '../support/darkroom.ts';
import { programConfig } from '../support/pooled-run.ts';

const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
const OVER_AND_DONE = ['delivered', 'exhausted', 'stopped'];

interface Peer {
  readonly peer: string;
  readonly url: string;
  /** Connections, whatever happened on them. */
  connections: number;
  readonly server: Server;
}

async function startPeer(listener: RequestListener): Promise<Peer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const peer = { peer: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}`, connections: 0, server };
  server.on('connection', () => (peer.connections += 1));
  return peer;
}

describe('the connections of a complete installation', () => {
  let directory: string;
  let outside: DarkroomWithUpstreams;
  let account: TestAccount;
  /** Allowed; it redirects requests below `/hidden` to the other one. */
  let allowed: Peer;
  /** Not allowed. */
  let hidden: Peer;
  const connectLog = (): string => path.join(directory, 'connects');

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-peers-'));
    const image = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'teal' } })
      .png()
      .toBuffer();
    const serve: RequestListener = (_request, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(image);
    hidden = await startPeer(serve);
    allowed = await startPeer((request, response) => {
      if (request.url?.startsWith('/hidden') === true) response.writeHead(302, { location: hidden.url }).end();
      else serve(request, response);
    });
    outside = await startDarkroomWithUpstreams(
      {
        CALLBACK_OFFSETS_SECONDS: '0',
        CONNECT_LOG: connectLog(),
        // Other programs use these as a proxy: setting them does not change our connections.
        ...Object.fromEntries(PROXY_VARIABLES.map((name) => [name, hidden.url])),
        NODE_USE_ENV_PROXY: '1',
        NODE_OPTIONS: `--import ${pathToFileURL(packageFile('test/egress/record-connects.mjs')).href}`,
      },
      [allowed.url],
    );
    account = await outside.darkroom.createAccount();
  });
  after(async () => {
    await outside.stop();
    for (const { server } of [allowed, hidden]) {
      server.closeAllConnections();
      server.close();
    }
    await rm(directory, { recursive: true, force: true });
  });

  async function finish(body: { model: string; input: object; callback?: object }): Promise<string> {
    const taskId = await outside.create(account, body);
    const task = await account.client.waitForTerminal(taskId);
    if (body.callback === undefined) return task.status;
    const settled = await account.client.waitFor(taskId, ({ callback }) =>
      OVER_AND_DONE.includes(callback?.state ?? ''),
    );
    return `${task.status}, ${settled.callback?.state}`;
  }

  it('lead to the configured services and to allowed addresses, and nowhere else', async () => {
    const callback = { url: `${outside.receiver.url}/ok/peers` };
    const tasks = 'test/tasks';
    const poster = 'darkroom/poster';

    // Named by a provider.
    const there = { prompt: `a boat [file-redirect ${allowed.url}/a.png]` };
    assert.equal(await finish({ model: tasks, input: there, callback }), 'success, delivered');
    const notThere = { prompt: `a boat [file-redirect ${hidden.url}/a.png]` };
    assert.equal(await finish({ model: tasks, input: notThere, callback }), 'fail, delivered');
    const byWayOf = { prompt: `a boat [file-redirect ${allowed.url}/hidden]` };
    assert.equal(await finish({ model: tasks, input: byWayOf, callback }), 'fail, delivered');

    // Named by a client, as an input.
    const image_url = `${allowed.url}/a.png`;
    assert.equal(await finish({ model: poster, input: { prompt: '"ONE"', image_url } }), 'success');
    const redirected = `${allowed.url}/hidden`;
    assert.equal(await finish({ model: poster, input: { prompt: '"ONE"', image_url: redirected } }), 'fail');
    const literal = await account.client.create({ model: poster, input: { prompt: '"ONE"', image_url: hidden.url } });
    assert.equal(literal.status, 400, JSON.stringify(literal.body));

    // Named by a client, as a receiver.
    const model = 'test/openai';
    const input = { prompt: 'a boat' };
    const redirecting = { url: `${allowed.url}/hidden` };
    assert.equal(await finish({ model, input, callback: redirecting }), 'success, exhausted');
    const unknown = { url: 'https://receiver.invalid/' };
    assert.equal(await finish({ model, input, callback: unknown }), 'success, exhausted');
    assert.equal((await account.client.create({ model, input, callback: { url: hidden.url } })).status, 400);
    const tried = await account.client.send('POST', '/v1/account/webhook-key/test', { url: hidden.url });
    assert.equal(tried.status, 400);
    const delivered = await account.client.send('POST', '/v1/account/webhook-key/test', callback);
    assert.equal(delivered.status, 200);

    const lines = (await readFile(connectLog(), 'utf8')).trim().split('\n');
    const seen = lines.map((line) => JSON.parse(line) as { role: string; peer: string });
    const peersOf = (role: string): readonly string[] =>
      [...new Set(seen.flatMap((each) => (each.role === role ? [each.peer] : [])))].toSorted();
    const database = new URL(programConfig(outside.darkroom.testDatabase.url).url).host;
    const receiver = new URL(outside.receiver.url).host;
    const provider = new URL(outside.provider.url).host;
    assert.deepEqual(peersOf('api'), [database, receiver].toSorted());
    assert.deepEqual(peersOf('worker'), [database, provider, receiver, allowed.peer].toSorted());
    assert.deepEqual([...new Set(seen.map(({ role }) => role))].toSorted(), ['api', 'worker']);
    assert.equal(hidden.connections, 0);
    assert.ok(allowed.connections > 0);
  });
});
