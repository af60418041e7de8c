/** `admin database`: moving an installation's database to another server. */
import { DatabaseCopyError, copyDatabase } from '../../database/copy.ts';
import { openDatabase } from '../../database/database.ts';
import { verifyLedger } from '../../billing/verify.ts';
import { silentLogger } from '../../telemetry/log.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import { print } from './print.ts';

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
