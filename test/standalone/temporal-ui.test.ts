/**
 * Temporal on this machine, attacked by a page in a browser on it: by DNS rebinding, where the page's own name points
 * to 127.0.0.1, and by forms, which may be sent to any address. The real server; the browser is simulated, except
 * that it connects to no port that the Fetch standard blocks.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, readdir, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, Connection } from '@temporalio/client';
import { BLOCKED_PORTS, findBlockedPorts } from '../../src/standalone/ports.ts';
import { LogFile } from '../../src/standalone/logs.ts';
import { Part } from '../../src/standalone/part.ts';
import { ProcessRecord } from '../../src/standalone/processes.ts';
import { reservePort } from '../support/reserve-port.ts';
import { temporalServerLaunch, waitForTemporal } from '../../src/standalone/temporal-server.ts';
import { guardTemporalUi } from '../../src/standalone/temporal-ui-guard.ts';
import type { TemporalUiGuard } from '../../src/standalone/temporal-ui-guard.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { raw } from '../http/raw-request.ts';
import type { RawAnswer } from '../http/raw-request.ts';

const cliPath = process.env['DARKROOM_TEST_TEMPORAL_CLI'] ?? assert.fail('run this file with npm test -- <file>');
const workflowId = `victim-${randomUUID()}`;
const terminate = `/api/v1/namespaces/default/workflows/${workflowId}/terminate`;

let directory: string;
/** Supervised as by `npm start`: the ports that browsers block are few, and another program may be faster. */
let server: Part;
let launches = 0;
let connection: Connection;
let client: Client;
let guard: TemporalUiGuard;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-temporal-ui-'));
  const port = await reservePort();
  const faster = createServer();
  let uiPort = 0;
  server = new Part(
    {
      name: 'temporal',
      title: 'Temporal',
      launch: async () => {
        const [ui = 0, metricsPort = 0] = await findBlockedPorts(2);
        launches++;
        if (launches === 1) faster.listen(ui, '127.0.0.1');
        uiPort = ui;
        return temporalServerLaunch({ cliPath, port, uiPort, metricsPort, searchAttributes: {} }, process.env);
      },
      waitUntilReady: (_announced, signal) => waitForTemporal(`127.0.0.1:${port}`, signal),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 5_000,
    },
    {
      log: new LogFile(directory, 'temporal'),
      record: new ProcessRecord(directory),
      onLine: () => {},
      report: () => {},
    },
  );
  await server.start();
  faster.close();
  connection = await Connection.connect({ address: `127.0.0.1:${port}` });
  client = new Client({ connection });
  await client.workflow.start('nobodyRunsIt', { workflowId, taskQueue: 'none', args: [] });
  guard = await guardTemporalUi(0, () => uiPort);
});
after(async () => {
  await guard.close();
  await connection.close();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Every TCP port on the loopback that a process listens on. */
async function listeningPorts(pid: number): Promise<readonly number[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  const inodes = new Set(links.map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1]).filter(Boolean));
  const ports = [];
  for (const file of ['tcp', 'tcp6']) {
    const lines = (await readFile(`/proc/${pid}/net/${file}`, 'utf8')).split('\n').slice(1);
    for (const line of lines) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === '0A' && inodes.has(inode)) ports.push(Number.parseInt(local.split(':')[1] ?? '', 16));
    }
  }
  return ports;
}

const isRunning = async (): Promise<boolean> =>
  (await client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';

/**
 * No HTTP response at all is the best result: gRPC without TLS speaks HTTP/2 from the first byte, which no browser
 * does.
 */
async function attempt(url: string, method: string, path: string, headers: Record<string, string>): Promise<RawAnswer> {
  const sent = method === 'POST' ? '{"reason":"attack"}' : undefined;
  return raw(url, method, path, headers, sent).catch(() => ({ status: 0, headers: {}, text: '' }));
}

/** Everything that such a page can send to an address, its own cookies and tokens of the UI included. */
async function attack(url: string): Promise<void> {
  const { port } = new URL(url);
  const evil = `http://evil.example:${port}`;
  const rebinding = { Host: `evil.example:${port}`, Origin: evil, 'Sec-Fetch-Site': 'same-origin' };
  const text = { 'Content-Type': 'text/plain' };
  // A page after DNS rebinding reads the UI's token, because to the UI it appears to be its own.
  const page = await attempt(url, 'GET', '/', { Host: `evil.example:${port}` });
  const [cookie = ''] = page.headers['set-cookie'] ?? [];
  const token = /_csrf=([^;]*)/.exec(cookie)?.[1] ?? 'none';
  const withToken = { Cookie: `_csrf=${token}`, 'X-CSRF-Token': token };
  for (const place of ['/api/v1/namespaces', '/cluster', '/namespaces/default/workflows', '/metrics', '/']) {
    for (const headers of [rebinding, { Host: `evil.example:${port}` }, { Host: 'evil.example' }]) {
      const answer = await attempt(url, 'GET', place, headers);
      assert.ok(answer.status === 0 || answer.status >= 400, `${url}${place}: ${answer.status} ${answer.text}`);
    }
  }
  for (const path of [terminate, terminate.replace('/api/v1', '')]) {
    for (const headers of [
      { ...rebinding, ...text, ...withToken },
      { Host: `evil.example:${port}`, ...text, ...withToken },
      // A form or fetch without CORS, from any page to this very address.
      { Host: `127.0.0.1:${port}`, Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site', ...text },
      { Host: `127.0.0.1:${port}`, Origin: 'null', ...text },
      { Host: `127.0.0.1:${port}`, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', ...text },
    ]) {
      const answer = await attempt(url, 'POST', path, headers);
      assert.ok(answer.status === 0 || answer.status >= 400, `${url}${path}: ${answer.status} ${answer.text}`);
    }
  }
}

describe('the server', () => {
  it('is launched again on other ports when another program was faster', () => {
    assert.ok(launches > 1);
  });
});

describe('a page in a browser of this machine', () => {
  it('can read nothing of Temporal and terminate no workflow, on any port that it can connect to', async () => {
    const open = await listeningPorts(server.pid ?? 0);
    const reachable = open.filter((port) => !BLOCKED_PORTS.includes(port));
    assert.ok(open.length - reachable.length >= 2, 'the Web UI and the metrics are where no browser goes');
    assert.ok(reachable.length > 0);

    for (const port of reachable) await attack(`http://127.0.0.1:${port}`);
    await attack(guard.url);

    assert.equal(await isRunning(), true);
  });
});

describe('an operator', () => {
  it('opens the Web UI by its link, from the dashboard too, and can terminate with it', async () => {
    const { host, origin } = new URL(guard.url);
    const link = {
      Host: host,
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'navigate',
      'Sec-Fetch-Dest': 'document',
    };
    const page = await raw(guard.url, 'GET', '/namespaces/default/workflows', link);
    assert.equal(page.status, 200);
    assert.match(page.text, /<html/);

    const readNamespaces = async (): Promise<RawAnswer> =>
      raw(guard.url, 'GET', '/api/v1/namespaces', { Host: host, 'Sec-Fetch-Site': 'same-origin' });
    // It may have dialled the server before that listened, and dials again only after a second.
    await waitFor('the Web UI reaches the server', async () => (await readNamespaces()).status !== 503);
    const read = await readNamespaces();
    assert.equal(read.status, 200);
    const [cookie = ''] = read.headers['set-cookie'] ?? [];
    const token = /_csrf=([^;]*)/.exec(cookie)?.[1] ?? '';
    const headers = { Host: host, Origin: origin, Cookie: `_csrf=${token}`, 'X-CSRF-Token': token };
    const answer = await raw(guard.url, 'POST', terminate, headers, '{"reason":"an operator"}');
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await isRunning(), false);
  });

  it('gets an error page when the Web UI does not respond', async () => {
    const port = await reservePort();
    const away = await guardTemporalUi(0, () => port);
    assert.equal((await raw(away.url, 'GET', '/', { Host: new URL(away.url).host })).status, 502);
    await away.close();
  });
});
