/** Commands for the service itself: its queues, upstreams, failing items, database and admin token. */
import { Option } from '@commander-js/extra-typings';
import { verifyLedger } from '../../billing/verify.ts';
import { loadAdminToken } from '../../config/config.ts';
import { DatabaseCopyError, copyDatabase } from '../../database/copy.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import { openDatabase } from '../../database/database.ts';
import type { Database } from '../../database/database.ts';
import { listFailingItems } from '../../database/failing-items.ts';
import { FAILING_KINDS } from '../../domain/failing-kind.ts';
import { presentUpstreams } from '../../presenters/upstream.ts';
import { resolveDataDirectory } from '../../standalone/data-directory.ts';
import { readInstance } from '../../standalone/instance.ts';
import { readSecrets } from '../../standalone/secrets.ts';
import { readQueues } from '../../tasks/outbox/backlog.ts';
import { silentLogger } from '../../telemetry/log.ts';
import { UpstreamNotFoundError, reportUpstreams, setDrained } from '../../upstreams/operations.ts';
import { wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import { print } from './installation.ts';
import type { OnInstallation } from './installation.ts';

export function queuesCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('backlogs and running work')
    .description('show backlogs and running work')
    .action(onInstallation(async ({ database }) => readQueues(database, await readDatabaseTime(database))));
}

/** Works only on a data directory, whether anything runs on it or not. */
export function adminTokenCommands(group: Group, environment: NodeJS.ProcessEnv): void {
  group
    .command('show')
    .description('show the admin token (Authorization: Bearer of the admin listener)')
    .action(async (_options, command) => {
      const { json, dataDir } = command.optsWithGlobals();
      const directory = resolveDataDirectory(dataDir, environment);
      const instance = await readInstance(directory);
      const token =
        instance === undefined ? (await readSecrets(directory))?.adminToken : loadAdminToken(instance.environment);
      if (token === undefined || token === '') {
        throw new AdminError(
          `${directory} has no admin token: npm start makes one there; elsewhere it is what you set as ADMIN_TOKEN`,
        );
      }
      const url = instance === undefined ? undefined : `${instance.adminUrl}/admin`;
      if (json === true) {
        print({ ...(url === undefined ? {} : { url }), token }, true);
        return;
      }
      // Standard output is the token alone, so that it can be piped.
      if (url !== undefined) process.stderr.write(`of ${url}\n`);
      process.stdout.write(`${token}\n`);
    });
}

export function upstreamCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('list')
    .description('list the upstreams of tasks and text calls, with their health, jobs and queues')
    .action(onInstallation(async ({ database }) => listUpstreams(database)));
  group
    .command('drain')
    .description('let no new work go to an upstream; its jobs continue')
    .argument('<upstream>')
    .action(onInstallation(async ({ database }, upstream) => setUpstreamDrained(database, upstream, true)));
  group
    .command('resume')
    .description('let work go to an upstream again, and end its pause')
    .argument('<upstream>')
    .action(onInstallation(async ({ database }, upstream) => setUpstreamDrained(database, upstream, false)));
}

async function listUpstreams(database: Database) {
  // Which limits apply is in the model files, which are not read here.
  const { upstreams } = presentUpstreams(await reportUpstreams(database), new Map());
  return upstreams.map(({ upstream, state, pauseReason, pausedUntil, answeredAt, failures, slotsTaken, waiting }) => ({
    upstream,
    state,
    reason: pauseReason ?? '',
    pausedUntil: pausedUntil === 0 ? '' : new Date(pausedUntil * 1000).toISOString(),
    answered: answeredAt === 0 ? '' : new Date(answeredAt * 1000).toISOString(),
    failures,
    jobs: slotsTaken,
    waiting,
  }));
}

async function setUpstreamDrained(database: Database, upstream: string, isDrained: boolean) {
  try {
    await setDrained(database, upstream, isDrained);
  } catch (error) {
    if (!(error instanceof UpstreamNotFoundError)) throw error;
    throw new AdminError(`${error.message}: admin upstreams list has those in use`);
  }
  return { upstream, drained: isDrained };
}

const MAX_FAILING_ITEMS = 10_000;

export function failingItemsCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('items that a pass could not process')
    .description('list the objects, tasks and accounts that a pass failed to process, the longest failing first')
    .addOption(new Option('--kind <kind>', 'only this kind').choices(FAILING_KINDS))
    .option('--limit <number>', 'maximum number of items', wholeNumber(1, MAX_FAILING_ITEMS), 100)
    .action(
      onInstallation(async ({ database }, { kind, limit }) => {
        const items = await listFailingItems(database, { kind, limit });
        return items.map((item) => ({
          kind: item.kind,
          id: item.id,
          failures: item.failures,
          since: item.firstFailedAt.toISOString(),
          last: item.lastFailedAt.toISOString(),
          retry: item.retryAt.toISOString(),
          error: item.error,
        }));
      }),
    );
}

/** Moving an installation's database to another server. */
export function databaseCommands(group: Group): void {
  group
    .command('copy')
    .description(
      'copy everything into an empty database, of another release of PostgreSQL too; api and worker must be stopped',
    )
    .requiredOption('--from <url>', 'postgres://… of the installation')
    .requiredOption('--to <url>', 'postgres://… of an empty database')
    .action(async ({ from, to }, command) => {
      const onCopied = ({ table, rows }: { table: string; rows: number }): void => {
        process.stderr.write(`${table}: ${rows} rows\n`);
      };
      const logger = silentLogger();
      const tables = await copyDatabase({ from, to, logger, onCopied }).catch((error: unknown) => {
        throw error instanceof DatabaseCopyError ? new AdminError(error.message) : error;
      });
      const copy = openDatabase({ url: to, poolSize: 2 }, logger);
      try {
        const violations = await verifyLedger(copy);
        if (violations.length > 0) process.exitCode = 1;
        const rows = tables.reduce((sum, table) => sum + table.rows, 0);
        print(
          { tables: tables.length, rows, ledgerHolds: violations.length === 0, violations },
          command.optsWithGlobals().json === true,
        );
      } finally {
        await copy.close();
      }
    });
}
