/**
 * TLS in the api itself: what is served and rejected, and how a certificate changes while connections are open. On
 * real sockets, with certificates made for the test.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { connect as connectPlain } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from 'node:tls';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { reservePort } from '../support/reserve-port.ts';
import { Role, startDarkroom } from '../support/darkroom.ts';
import { programEnvironment } from '../support/pooled-run.ts';
import { makeCertificate } from '../support/test-certificate.ts';
import type { TestCertificate } from '../support/test-certificate.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { ADMIN_TOKEN, serveAdmin } from './serve-admin.ts';
import { serveApp } from './serve.ts';
import type { ServedApp } from './serve.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-tls-'));
});
after(() => rm(directory, { recursive: true, force: true }));

interface Files {
  readonly TLS_CERT_FILE: string;
  readonly TLS_KEY_FILE: string;
}

let written = 0;

/** Files of their own in a directory of their own. */
async function writePair({ cert, key }: TestCertificate): Promise<Files> {
  const own = path.join(directory, String(++written));
  await mkdir(own);
  const files = { TLS_CERT_FILE: path.join(own, 'tls.crt'), TLS_KEY_FILE: path.join(own, 'tls.key') };
  await writeFile(files.TLS_CERT_FILE, cert);
  await writeFile(files.TLS_KEY_FILE, key);
  return files;
}

/** Replaces a file atomically, as certbot does. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

interface Log {
  readonly lines: { msg: string; problem?: string }[];
  readonly served: ServedApp;
}

async function serveTls(t: TestContext, files: Files): Promise<Log> {
  const lines: Log['lines'] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const served = await serveApp({ environment: { ...files }, listening: { logger } });
  t.after(() => served.close());
  return { lines, served };
}

async function handshake(url: string, options: { maxVersion?: SecureVersion } = {}): Promise<TLSSocket> {
  const { port } = new URL(url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false, ...options });
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => undefined);
  return socket;
}

/** The name in the certificate that a new connection receives. */
async function servedName(url: string): Promise<string> {
  const socket = await handshake(url);
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

/** One request on a connection that stays open. @returns the status line. */
async function ask(socket: TLSSocket): Promise<string> {
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  const answer = await new Promise<string>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(bytes.toString()));
  });
  return answer.slice(0, answer.indexOf('\r\n'));
}

async function get(url: string, ca: string, headers = {}): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ca, headers, agent: false }, (incoming) => {
      incoming.resume().on('end', () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers }));
    });
    outgoing.on('error', reject).end();
  });
}

describe('HTTPS of the api itself', () => {
  it('is served with the configured certificate, and every response has HSTS', async (t) => {
    const pair = makeCertificate('first');
    const { served } = await serveTls(t, await writePair(pair));
    for (const path of ['/healthz', '/nothing', '/v1/tasks', '/docs']) {
      const { headers } = await get(`${served.url}${path}`, pair.cert);
      assert.equal(headers['strict-transport-security'], 'max-age=31536000', path);
    }
    const socket = await handshake(served.url);
    socket.write('BROKEN\r\n\r\n');
    const answer = await new Promise<string>((resolve) => void socket.once('data', (bytes) => resolve(String(bytes))));
    assert.match(answer, /^HTTP\/1\.1 400 [^]*\r\nStrict-Transport-Security: max-age=31536000\r\n/);
    socket.destroy();
  });

  it('accepts TLS 1.2 and newer only, and does not respond to plain HTTP', async (t) => {
    const { served } = await serveTls(t, await writePair(makeCertificate('versions')));
    const newer = await handshake(served.url, { maxVersion: 'TLSv1.2' });
    assert.equal(newer.getProtocol(), 'TLSv1.2');
    newer.destroy();
    await assert.rejects(handshake(served.url, { maxVersion: 'TLSv1.1' }));

    const plain = connectPlain(Number(new URL(served.url).port), '127.0.0.1');
    let heard = '';
    plain.on('data', (bytes) => {
      heard += String(bytes);
    });
    plain.on('error', () => undefined);
    plain.write('GET /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n');
    await new Promise((resolve) => void plain.once('close', resolve));
    assert.equal(heard, '');
    assert.equal(await servedName(served.url), 'versions');
  });

  it('is served by the admin listener, too', async (t) => {
    const pair = makeCertificate('admin');
    const admin = await serveAdmin({ environment: { ...(await writePair(pair)) } });
    t.after(() => admin.close());
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const answer = await get(`${admin.url}/admin/queues`, pair.cert, headers);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000');
  });
});

describe('a certificate whose files change', () => {
  it('is served from then on, and existing connections stay open', async (t) => {
    const files = await writePair(makeCertificate('old'));
    const { served } = await serveTls(t, files);
    const existing = await handshake(served.url);
    assert.equal(await ask(existing), 'HTTP/1.1 200 OK');
    assert.equal(await servedName(served.url), 'old');

    const next = makeCertificate('new');
    await replace(files.TLS_CERT_FILE, next.cert);
    await replace(files.TLS_KEY_FILE, next.key);
    await waitFor('the new certificate is served', async () => (await servedName(served.url)) === 'new');
    assert.equal(await ask(existing), 'HTTP/1.1 200 OK');
    assert.equal(existing.getPeerCertificate().subject.CN, 'old');
    existing.destroy();
  });

  it('is found when a link to their directory changes, as in Kubernetes', async (t) => {
    const [before, later] = [await writePair(makeCertificate('before')), await writePair(makeCertificate('later'))];
    const mount = path.join(directory, 'mount');
    await mkdir(mount);
    await symlink(path.dirname(before.TLS_CERT_FILE), path.join(mount, '..data'));
    for (const name of ['tls.crt', 'tls.key']) await symlink(`..data/${name}`, path.join(mount, name));
    const { served } = await serveTls(t, {
      TLS_CERT_FILE: path.join(mount, 'tls.crt'),
      TLS_KEY_FILE: path.join(mount, 'tls.key'),
    });
    assert.equal(await servedName(served.url), 'before');
    await symlink(path.dirname(later.TLS_CERT_FILE), path.join(mount, '..data_new'));
    await rename(path.join(mount, '..data_new'), path.join(mount, '..data'));
    await waitFor('the new certificate is served', async () => (await servedName(served.url)) === 'later');
  });

  it('stays the old one while they do not match, and the log has the reason, without their content', async (t) => {
    const good = makeCertificate('good');
    const next = makeCertificate('next');
    const files = await writePair(good);
    const { served, lines } = await serveTls(t, files);
    const problems = (): string[] => lines.flatMap(({ problem }) => problem ?? []);
    const cases: [what: string, cert: string | undefined, key: string | undefined, expected: RegExp][] = [
      ['another certificate', next.cert, good.key, /^TLS_KEY_FILE: .*tls\.key is not the key of the certificate in/],
      ['no key', next.cert, 'garbage', /^TLS_KEY_FILE: .*tls\.key is no private key/],
      ['half a certificate', next.cert.slice(0, 200), next.key, /^TLS_CERT_FILE: .*tls\.crt is no certificate chain/],
      ['an empty certificate', '', next.key, /^TLS_CERT_FILE: .*tls\.crt is no certificate chain/],
      ['no file', undefined, next.key, /^TLS_CERT_FILE: .*tls\.crt cannot be read \(ENOENT\)$/],
    ];
    for (const [what, cert, key, expected] of cases) {
      const problemCount = problems().length;
      if (cert === undefined) await rm(files.TLS_CERT_FILE);
      else await replace(files.TLS_CERT_FILE, cert);
      if (key !== undefined) await replace(files.TLS_KEY_FILE, key);
      await waitFor(
        () => `the log reports ${what}; it has ${JSON.stringify(problems())}`,
        () =>
          problems()
            .slice(problemCount)
            .some((problem) => expected.test(problem)),
      );
      assert.equal(await servedName(served.url), 'good', what);
    }
    assert.doesNotMatch(JSON.stringify(lines), /BEGIN|garbage/);
    await replace(files.TLS_CERT_FILE, next.cert);
    await waitFor('the pair is served', async () => (await servedName(served.url)) === 'next');
  });
});

describe('an api process with TLS', () => {
  it('reloads its certificate on SIGHUP and keeps running', async () => {
    const files = await writePair(makeCertificate('one'));
    const port = await reservePort();
    const url = `https://127.0.0.1:${port}`;
    const darkroom = await startDarkroom({ apis: 0, workers: 0 });
    const role = new Role(
      'api',
      { ...environmentFor(darkroom.testDatabase.url, port, url), ...files },
      darkroom.logFile,
    );
    try {
      await role.start();
      assert.equal(await servedName(url), 'one');
      const next = makeCertificate('two');
      await replace(files.TLS_CERT_FILE, next.cert);
      await replace(files.TLS_KEY_FILE, next.key);
      process.kill(role.pid, 'SIGHUP');
      await waitFor('the new certificate is served', async () => (await servedName(url)) === 'two');
      assert.equal(role.collapse, undefined);
    } finally {
      await role.kill('SIGTERM');
      await darkroom.stop();
    }
  });

  it('does not start with invalid certificate files, and names them', async () => {
    const files = await writePair({ ...makeCertificate('x'), key: makeCertificate('y').key });
    const port = await reservePort();
    const darkroom = await startDarkroom({ apis: 0, workers: 0 });
    const environment = { ...environmentFor(darkroom.testDatabase.url, port, `https://127.0.0.1:${port}`), ...files };
    try {
      await assert.rejects(
        new Role('api', environment, darkroom.logFile).start(),
        // 78: restarting changes nothing.
        /the api ended with 78:[^]*TLS_KEY_FILE: \S+tls\.key is not the key of the certificate in \S+tls\.crt"\}\n$/,
      );
    } finally {
      await darkroom.stop();
    }
  });
});

function environmentFor(databaseUrl: string, port: number, publicUrl: string): NodeJS.ProcessEnv {
  return {
    // oxlint-disable-next-line node/no-process-env -- the process needs PATH
    PATH: process.env['PATH'],
    ...programEnvironment(databaseUrl),
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    STORE_URL: `file://${path.join(directory, 'store')}`,
    URL_SIGNING_KEY: 'a signing key of at least 32 characters',
    ENCRYPTION_KEY: 'a signing key of at least 32 characters',
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    SHUTDOWN_GRACE_SECONDS: '1',
  };
}
