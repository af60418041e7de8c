/**
 * The supervisor as a user experiences it: a real process that runs a real PostgreSQL and a real Temporal on a data
 * directory.
 */
import assert from 'node:assert/strict';
import { readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { adminCommandOf } from '../../src/config/config.ts';
import { readInstance } from '../../src/standalone/instance.ts';
import type { Instance } from '../../src/standalone/instance.ts';
import { readProcess } from '../../src/standalone/processes.ts';
import { supervise, temporaryDirectory } from './fixtures/supervised.ts';
import type { Supervised } from './fixtures/supervised.ts';

const READY = 'Stop:  ';

/** The line with the Web UI's URL, which leads to its list of tasks in a namespace. */
function tasksIn(namespace: string): RegExp {
  const query = 'query=WorkflowType%3D%22mediaTask%22';
  return new RegExp(`Temporal UI +http://127\\.0\\.0\\.1:\\d+/namespaces/${namespace}/workflows\\?${query}$`, 'm');
}

/** The recorded processes of the parts that run on a data directory, by name. */
async function partPids(dataDir: string): Promise<Record<string, number>> {
  const record = JSON.parse(await readFile(path.join(dataDir, 'processes.json'), 'utf8')) as Record<
    string,
    { pid: number }
  >;
  return Object.fromEntries(Object.entries(record).map(([name, { pid }]) => [name, pid]));
}

async function livingOf(pids: Record<string, number>): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => ((await readProcess(pid)) === undefined ? [] : [name])),
  );
  return found.flat();
}

describe('npm start', () => {
  let directory: string;
  let dataDir: string;
  let running: Supervised;
  let instance: Instance;

  const start = async (): Promise<void> => {
    running = supervise(dataDir);
    await running.printed(READY);
    const found = await readInstance(dataDir);
    assert.ok(found);
    instance = found;
  };

  before(async () => {
    directory = await temporaryDirectory();
    dataDir = path.join(directory, 'data');
    await start();
  });

  after(async () => {
    await running.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('prints the URLs, the first key and commands to paste', () => {
    assert.match(running.output(), /^ {2}http:\/\/127\.0\.0\.1:\d+\/sign-in#shown-once$/m);
    assert.match(running.output(), /API +http:\/\/127\.0\.0\.1:\d+\/v1/);
    assert.match(running.output(), /Admin +http:\/\/127\.0\.0\.1:\d+\/admin/);
    assert.match(running.output(), /Admin token: .* admin-token show/);
    assert.match(running.output(), tasksIn('default'));
    assert.match(running.output(), /dk_live_shown_once/);
    assert.match(running.output(), /curl .*\/v1\/tasks /);
    assert.ok(running.output().includes(`npm run admin -- --data-dir '${dataDir}' accounts top-up `));
  });

  it('makes its processes include the data directory in the commands that they log', () => {
    assert.equal(adminCommandOf(instance.environment), `npm run admin -- --data-dir '${dataDir}'`);
  });

  it('serves at the URLs it printed', async () => {
    assert.equal((await fetch(instance.apiUrl)).status, 200);
    assert.equal((await fetch(instance.temporalUiUrl ?? '')).status, 200);
  });

  it('stores its secrets and its address book readable by their owner only', async () => {
    for (const file of ['secrets.json', 'instance.json', 'processes.json', 'temporal.sqlite']) {
      assert.equal((await stat(path.join(dataDir, file))).mode & 0o077, 0, file);
    }
    assert.equal((await stat(dataDir)).mode & 0o066, 0);
  });

  it('rejects a second start on the same data directory, naming the process that uses it', async () => {
    const second = supervise(dataDir);
    assert.equal(await second.ended(), 1);
    assert.match(second.output(), new RegExp(`already running on ${dataDir} \\(process ${running.child.pid}\\)`));
  });

  it('restarts a process when it dies', async () => {
    for (const [part, title] of [
      ['api', 'The API'],
      ['worker', 'The worker'],
      ['temporal', 'Temporal'],
      ['postgres', 'PostgreSQL'],
    ] as const) {
      const before = (await partPids(dataDir))[part];
      assert.ok(before !== undefined);
      process.kill(before, 'SIGKILL');
      // Printed when it does its work; its process is recorded earlier.
      await running.printed(`${title} runs again.`);
      const now = (await partPids(dataDir))[part];
      assert.ok(now !== undefined && now !== before, `${part} is not recorded anew`);
      if (part === 'api') assert.equal((await fetch(instance.apiUrl)).status, 200);
    }
    assert.equal((await fetch(instance.apiUrl)).status, 200);
  });

  it('stops everything on request, persists its state, and shows no key at the next start', async () => {
    const pids = await partPids(dataDir);
    assert.deepEqual(Object.keys(pids).toSorted(), ['api', 'postgres', 'temporal', 'worker']);
    assert.equal(await running.stop('SIGINT'), 0);
    assert.deepEqual(await livingOf(pids), []);
    assert.equal(await readInstance(dataDir), undefined);

    await start();
    assert.doesNotMatch(running.output(), /dk_live_/);
    assert.match(running.output(), /keys create/);
  });

  it('cleans up after a supervisor that was killed', async () => {
    const orphans = await partPids(dataDir);
    running.child.kill('SIGKILL');
    await running.ended();
    assert.equal(await readInstance(dataDir), undefined);

    await start();
    assert.match(running.output(), /had left running: .*postgres/);
    assert.deepEqual(await livingOf(orphans), []);
  });

  it('recovers when everything was killed at once', async () => {
    const pids = await partPids(dataDir);
    for (const pid of [running.child.pid, ...Object.values(pids)]) {
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    }
    await running.ended();

    await start();
    assert.equal((await fetch(instance.apiUrl)).status, 200);
  });
});

describe('npm start that cannot continue', () => {
  let directory: string;

  before(async () => {
    directory = await temporaryDirectory();
  });

  after(() => rm(directory, { recursive: true, force: true }));

  it('names a port in use and the variable that changes it', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const rejected = supervise(path.join(directory, 'port'), { TEMPORAL_UI_PORT: String(port) });
    assert.equal(await rejected.ended(), 1);
    server.close();
    assert.match(rejected.output(), new RegExp(`port ${port}, for Temporal's Web UI, is in use.*TEMPORAL_UI_PORT`));
  });

  it('starts only the database on request, and nothing else beside it', async () => {
    const dataDir = path.join(directory, 'database-only');
    const alone = supervise(dataDir, {}, ['--database-only']);
    await alone.printed('Stop: Ctrl-C');

    const [, url] = /(postgres:\/\/\S+)/.exec(alone.output()) ?? [];
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    assert.deepEqual((await client.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
    await client.end();
    assert.deepEqual(Object.keys(await partPids(dataDir)), ['postgres']);
    assert.equal(await alone.stop(), 0);

    const elsewhere = supervise(path.join(directory, 'elsewhere'), { DATABASE_URL: url }, ['--database-only']);
    assert.equal(await elsewhere.ended(), 1);
    assert.match(elsewhere.output(), /DATABASE_URL names a PostgreSQL of your own/);
  });

  it('exits with the log of the step that failed, and resumes there the next time', async () => {
    const dataDir = path.join(directory, 'step');
    const failed = supervise(dataDir, { FIXTURE_FAILS: 'migrate' });
    assert.equal(await failed.ended(), 1);
    assert.match(failed.output(), /the step "migrate" failed[^]*the fixture was configured not to migrate/);

    const repaired = supervise(dataDir, { TEMPORAL_NAMESPACE: 'north' });
    await repaired.printed('dk_live_shown_once');
    assert.match(repaired.output(), tasksIn('north'));
    assert.equal(await repaired.stop(), 0);
  });

  it('gives up on a process that dies five times before it was ready, with its last log lines, and stops the others', async () => {
    const dataDir = path.join(directory, 'deaths');
    const failed = supervise(dataDir, { FIXTURE_FAILS: 'api' });
    assert.equal(await failed.ended(), 1);
    assert.match(
      failed.output(),
      /The API ended 5 times before it was ready[^]*the fixture was configured not to serve/,
    );
    assert.deepEqual(await partPids(dataDir), {});
  });
});
