/**
 * The container files match the program: what an image lacks, or a role does not receive, shows here and not in
 * production.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/config.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { COMPOSE_FILE, composeEnvironment, composeImage } from './compose-file.ts';

/** The parts that are checked. */
interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image?: string;
        readonly cap_drop?: readonly string[];
        readonly cap_add?: readonly string[];
        readonly security_opt?: readonly string[];
        readonly read_only?: boolean;
        readonly pids_limit?: number;
        readonly tmpfs?: readonly string[];
        readonly volumes?: readonly string[];
        readonly ports?: readonly string[];
        readonly privileged?: boolean;
        readonly init?: boolean;
      }
    >
  >;
}

const SECRETS = Object.fromEntries(
  ['POSTGRES_PASSWORD', 'DARKROOM_DB_PASSWORD', 'TEMPORAL_DB_PASSWORD', 'URL_SIGNING_KEY', 'ENCRYPTION_KEY'].map(
    (name) => [name, randomBytes(32).toString('hex')],
  ),
);
const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;

describe('docker-compose.yml', () => {
  it('gives the roles a valid configuration: off loopback, behind the proxy, HTTPS only', () => {
    const environment = composeEnvironment(['x-role-environment'], SECRETS);

    const { http, database } = loadConfig(environment);

    assert.equal(http.requiresHttps, true);
    assert.match(http.publicUrl ?? '', /^https:/);
    assert.equal(new URL(database.url).username, 'darkroom');
  });

  it('trusts the forwarding headers of the proxy at its address, and of no other container', async () => {
    const compose = await readFile(COMPOSE_FILE, 'utf8');
    const [, address = ''] = /ipv4_address: ([\d.]+)/.exec(compose) ?? [];
    const { http } = loadConfig(composeEnvironment(['x-role-environment'], SECRETS));

    assert.equal(http.trustedProxies.check(address), true);
    assert.equal(http.trustedProxies.check(address.replace(/\d+$/, '3')), false);
  });

  it('hides the passwords of other services from the roles', () => {
    const environment = composeEnvironment(['x-role-environment'], SECRETS);

    assert.equal(environment['POSTGRES_PASSWORD'], '');
    assert.equal(environment['TEMPORAL_DB_PASSWORD'], '');
    assert.doesNotMatch(
      JSON.stringify(environment),
      new RegExp(`${SECRETS['POSTGRES_PASSWORD']}|${SECRETS['TEMPORAL_DB_PASSWORD']}`),
    );
  });

  it('does not start without its secrets', () => {
    for (const name of Object.keys(SECRETS)) {
      const incomplete = { ...SECRETS, [name]: '' };
      assert.throws(() => {
        composeEnvironment(['x-role-environment'], incomplete);
        composeEnvironment(['services', 'postgres', 'environment'], incomplete);
        composeEnvironment(['services', 'temporal', 'environment'], incomplete);
      }, new RegExp(name));
    }
  });

  it('publishes nothing beyond this machine unless configured', async () => {
    const compose = await readFile(COMPOSE_FILE, 'utf8');
    const blocks = [...compose.matchAll(/^    ports:\n((?:      (?:- |#).+\n)+)/gm)].map(([, lines = '']) => lines);
    const published = blocks.flatMap((lines) => lines.match(/(?<=^      - ).+/gm) ?? []);

    assert.equal(published.length, 3, published.join(' '));
    for (const port of published) assert.match(port, /^(\$\{[A-Z_]+:-)?127\.0\.0\.1:/);
  });

  it('lets no service gain a privilege, write to its image, or keep a capability that it does not name', async () => {
    const compose = parse(await readFile(COMPOSE_FILE, 'utf8'), { merge: true }) as ComposeFile;
    const capabilities: Record<string, readonly string[]> = { proxy: ['NET_BIND_SERVICE'] };

    for (const [name, service] of Object.entries(compose.services)) {
      assert.deepEqual(service.cap_drop, ['ALL'], name);
      assert.deepEqual(service.cap_add ?? [], capabilities[name] ?? [], name);
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
      assert.equal(service.read_only, true, name);
      assert.ok((service.pids_limit ?? 0) > 0, name);
      assert.ok(
        service.tmpfs?.some((mount) => mount.startsWith('/tmp')),
        name,
      );
      assert.match(service.image ?? '', /^\$\{[A-Z_]+_IMAGE:-/, name);
      assert.equal(service.privileged, undefined, name);
      // Its first process would expose the role's environment to every other process of the same user.
      assert.equal(service.init, undefined, name);
    }
  });

  it('stores the data of a role in a volume of its own, which its image lets it write to', async () => {
    const compose = parse(await readFile(COMPOSE_FILE, 'utf8'), { merge: true }) as ComposeFile;
    const scratch = composeEnvironment(['x-role-environment'], SECRETS)['SCRATCH_DIR'] ?? '';

    for (const role of ['api', 'worker']) {
      assert.ok(compose.services[role]?.volumes?.includes(scratch), role);
    }
    assert.match(await readDockerfile(), new RegExp(`^  && mkdir -p .*${scratch}.*chown -R node:node /data$`, 'm'));
  });

  it('publishes only the ports of the proxy, and Temporal’s Web UI only behind a login', async () => {
    const compose = parse(await readFile(COMPOSE_FILE, 'utf8'), { merge: true }) as ComposeFile;
    const publishing = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
    const caddyfile = await readFile(packageFile('deploy/docker/caddy/Caddyfile'), 'utf8');

    assert.deepEqual(
      publishing.map(([name]) => name),
      ['proxy'],
    );
    assert.equal(composeEnvironment(['services', 'proxy', 'environment'], SECRETS)['TEMPORAL_UI'], 'off');
    const [served, ...others] = caddyfile.split('\n}\n').filter((block) => block.includes('temporal-ui:8080'));
    assert.match(served ?? '', /basic_auth \{[^}]*\{\$TEMPORAL_UI_USER\} \{\$TEMPORAL_UI_PASSWORD_HASH\}/);
    assert.deepEqual(others, []);
  });

  it('runs the Temporal version of the embedded dev server, and sets it up with the tools of that version', async () => {
    const pinned = await readFile(packageFile('scripts/temporal/go.mod'), 'utf8');
    const [, version] = /go\.temporal\.io\/server v(\S+)/.exec(pinned) ?? [];

    assert.deepEqual(composeImage('temporal'), ['temporalio/server', version]);
    assert.deepEqual(composeImage('temporal-schema'), ['temporalio/admin-tools', version]);
  });

  it(
    'is valid for docker compose',
    { skip: hasCompose ? false : 'there is no docker compose on this machine' },
    async () => {
      const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-compose-'));
      try {
        await cp(COMPOSE_FILE, path.join(directory, 'docker-compose.yml'));
        const lines = Object.entries(SECRETS).map(([name, value]) => `${name}=${value}`);
        await writeFile(path.join(directory, '.env'), `${lines.join('\n')}\n`);
        const environment = { PATH: process.env['PATH'], HOME: process.env['HOME'] };

        await promisify(execFile)('docker', ['compose', 'config', '--quiet'], { cwd: directory, env: environment });
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
  );
});

describe('the Dockerfile', () => {
  it('copies nothing that .dockerignore excludes', async () => {
    const allowed = (await readFile(packageFile('.dockerignore'), 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));

    const copied = (await readCopies()).flatMap(({ sources }) => sources);
    // Without files of a directory that is later copied completely.
    const whole = copied.filter((source) => !allowed.some((directory) => source.startsWith(`${directory}/`)));

    assert.deepEqual([...new Set(whole)].toSorted(byText), allowed.toSorted(byText));
  });

  it('copies every file that the program finds by its path', async () => {
    const sources = await readSources();
    const found = [...sources.matchAll(/packageFile\('([^']+)'\)/g)].map(([, file = '']) => file.split('/')[0] ?? '');
    assert.ok(found.includes('migrations') && found.includes('models'), 'the program finds its files otherwise now');

    const runtime = (await readDockerfile()).split(/^FROM /m).at(-1) ?? '';

    const missing = [...new Set(found)].filter((name) => !new RegExp(`^COPY .*\\b${name}$`, 'm').test(runtime));
    // Only `npm start` builds a Temporal server.
    assert.deepEqual(missing, ['scripts']);
  });

  it('runs as a user that is not root, on a supported version of Node', async () => {
    const dockerfile = await readDockerfile();
    const [, user] = /^USER (\S+)$/m.exec(dockerfile.split(/^FROM /m).at(-1) ?? '') ?? [];
    const bases = [...dockerfile.matchAll(/^FROM (\S+(?: AS \S+)?)/gm)].map(([, base]) => base);
    const [, major] = /^ARG NODE_IMAGE=node:(\d+)/m.exec(dockerfile) ?? [];

    assert.equal(user, 'node');
    assert.deepEqual(bases, ['${RUNTIME_IMAGE} AS runtime', '${NODE_IMAGE} AS build', 'runtime']);
    assert.ok(Number(major) > 20, `Node ${major}`);
  });
});

function readDockerfile(): Promise<string> {
  return readFile(packageFile('Dockerfile'), 'utf8');
}

/** The sources that are copied from the build context. */
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
