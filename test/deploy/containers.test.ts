/** The container files fit the program: what an image lacks, or a role is not given, shows here and not in production. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/config/config.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { COMPOSE_FILE, composeEnvironment, composeImage } from './compose-file.ts';

const SECRETS = Object.fromEntries(
  ['POSTGRES_PASSWORD', 'DARKROOM_DB_PASSWORD', 'TEMPORAL_DB_PASSWORD', 'URL_SIGNING_KEY', 'ENCRYPTION_KEY'].map(
    (name) => [name, randomBytes(32).toString('hex')],
  ),
);
const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;

describe('docker-compose.yml', () => {
  it('gives the roles a configuration that they accept: off loopback, behind the proxy, HTTPS only', () => {
    const environment = composeEnvironment(['x-role-environment'], SECRETS);

    const { http, database } = loadConfig(environment);

    assert.equal(http.requiresHttps, true);
    assert.match(http.publicUrl ?? '', /^https:/);
    assert.equal(new URL(database.url).username, 'darkroom');
  });

  it('believes the forwarding headers of the proxy, which has the address that it says, and of no other container', async () => {
    const compose = await readFile(COMPOSE_FILE, 'utf8');
    const [, address = ''] = /ipv4_address: ([\d.]+)/.exec(compose) ?? [];
    const { http } = loadConfig(composeEnvironment(['x-role-environment'], SECRETS));

    assert.equal(http.trustedProxies.check(address), true);
    assert.equal(http.trustedProxies.check(address.replace(/\d+$/, '3')), false);
  });

  it('keeps the passwords of other services from the roles', () => {
    const environment = composeEnvironment(['x-role-environment'], SECRETS);

    assert.equal(environment['POSTGRES_PASSWORD'], '');
    assert.equal(environment['TEMPORAL_DB_PASSWORD'], '');
    assert.doesNotMatch(
      JSON.stringify(environment),
      new RegExp(`${SECRETS['POSTGRES_PASSWORD']}|${SECRETS['TEMPORAL_DB_PASSWORD']}`),
    );
  });

  it('refuses to start without its secrets', () => {
    for (const name of Object.keys(SECRETS)) {
      const incomplete = { ...SECRETS, [name]: '' };
      assert.throws(() => {
        composeEnvironment(['x-role-environment'], incomplete);
        composeEnvironment(['services', 'postgres', 'environment'], incomplete);
        composeEnvironment(['services', 'temporal', 'environment'], incomplete);
      }, new RegExp(name));
    }
  });

  it('publishes nothing beyond this machine unless it is told to', async () => {
    const compose = await readFile(COMPOSE_FILE, 'utf8');
    const blocks = [...compose.matchAll(/^    ports:\n((?:      - .+\n)+)/gm)].map(([, lines = '']) => lines);
    const published = blocks.flatMap((lines) => lines.trim().split('\n')).map((line) => line.replace(/^\s*- /, ''));

    assert.equal(published.length, 3, published.join(' '));
    for (const port of published) assert.match(port, /^(\$\{[A-Z_]+:-)?127\.0\.0\.1:/);
  });

  it('runs the Temporal server that the embedded dev server holds, and sets it up with the tools of that version', async () => {
    const pinned = await readFile(packageFile('tools/temporal/go.mod'), 'utf8');
    const [, version] = /go\.temporal\.io\/server v(\S+)/.exec(pinned) ?? [];

    assert.deepEqual(composeImage('temporal'), ['temporalio/server', version]);
    assert.deepEqual(composeImage('temporal-schema'), ['temporalio/admin-tools', version]);
  });

  it(
    'is understood by docker compose',
    { skip: hasCompose ? false : 'there is no docker compose on this machine' },
    async () => {
      const folder = await mkdtemp(path.join(os.tmpdir(), 'darkroom-compose-'));
      try {
        await cp(COMPOSE_FILE, path.join(folder, 'docker-compose.yml'));
        const lines = Object.entries(SECRETS).map(([name, value]) => `${name}=${value}`);
        await writeFile(path.join(folder, '.env'), `${lines.join('\n')}\n`);
        const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'] };

        await promisify(execFile)('docker', ['compose', 'config', '--quiet'], { cwd: folder, env: environment });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  );
});

describe('the Dockerfile', () => {
  it('copies nothing that .dockerignore keeps from it', async () => {
    const allowed = (await readFile(packageFile('.dockerignore'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));

    const copied = (await readCopies()).flatMap(({ sources }) => sources);
    // A file of a folder that comes whole later.
    const whole = copied.filter((source) => !allowed.some((folder) => source.startsWith(`${folder}/`)));

    assert.deepEqual([...new Set(whole)].toSorted(byText), allowed.toSorted(byText));
  });

  it('brings into the image every file that the program finds by its path', async () => {
    const sources = await readSources();
    const found = [...sources.matchAll(/packageFile\('([^']+)'\)/g)].map(([, file = '']) => file.split('/')[0] ?? '');
    assert.ok(found.includes('migrations') && found.includes('models'), 'the program finds its files otherwise now');

    const runtime = (await readDockerfile()).split(/^FROM /m).at(-1) ?? '';

    const missing = [...new Set(found)].filter((name) => !new RegExp(`^COPY .*\\b${name}$`, 'm').test(runtime));
    // Only `npm start` builds a Temporal server.
    assert.deepEqual(missing, ['tools']);
  });

  it('runs as a user that is not root, on a Node that the program supports', async () => {
    const dockerfile = await readDockerfile();
    const [, user] = /^USER (\S+)$/m.exec(dockerfile.split(/^FROM /m).at(-1) ?? '') ?? [];
    const majors = [...dockerfile.matchAll(/^FROM node:(\d+)/gm)].map(([, major]) => Number(major));

    assert.equal(user, 'node');
    assert.equal(majors.length, 2);
    for (const major of majors) assert.ok(major > 20, `Node ${major}`);
  });
});

function readDockerfile(): Promise<string> {
  return readFile(packageFile('Dockerfile'), 'utf8');
}

/** What is copied from the build context. */
async function readCopies(): Promise<{ sources: string[] }[]> {
  const dockerfile = await readDockerfile();
  return [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].map(([, words = '']) => ({
    sources: words.split(' ').slice(0, -1),
  }));
}

async function readSources(): Promise<string> {
  const files = await readdir(packageFile('src'), { recursive: true });
  const texts = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFile(packageFile(`src/${file}`), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

function byText(one: string, other: string): number {
  return one.localeCompare(other);
}
