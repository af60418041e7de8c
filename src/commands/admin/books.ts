/** `admin ledger` and `admin usage`: ledger entries, their sums, and the check that everything adds up. */
import { LEDGER_KINDS, listLedger } from '../../billing/ledger-list.ts';
import { readExceededHolds, readOperatorCosts } from '../../billing/operator-costs.ts';
import { USAGE_GROUPS, readUsage } from '../../billing/usage.ts';
import type { UsageGroup, UsageQuery } from '../../billing/usage.ts';
import { verifyLedger } from '../../billing/verify.ts';
import { presentOperatorCosts } from '../../presenters/admin.ts';
import { presentLedger, readLedgerCursor } from '../../presenters/ledger.ts';
import { presentAdminUsage, usageQueryOf } from '../../presenters/usage.ts';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, listOf, onlyAccount, readWhole } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';
import { presentEntry } from './print.ts';

const MAX_ENTRIES = 1_000;

export function ledgerCommands(group: Group, onInstallation: OnInstallation) {
  return group
    .command(
      'list',
      'list what was booked for an account, newest first',
      (y) =>
        y
          .option('account', ACCOUNT)
          .option('size', { type: 'number', default: 20, describe: `entries, at most ${MAX_ENTRIES}` })
          .option('cursor', { type: 'string', describe: 'nextCursor of the page before' })
          .option('kind', { ...listOf(LEDGER_KINDS), describe: 'any of them' })
          .option('key', { type: 'string', describe: 'booked for requests of this key' })
          .option('reference', { type: 'string', describe: 'a task, a payment, storage:<account>:<day>' }),
      onInstallation(async ({ account, size, cursor, kind, key, reference }, { database }) => {
        const count = readWhole('size', size, 1, MAX_ENTRIES);
        const after = cursor === undefined ? undefined : readLedgerCursor(cursor);
        if (cursor !== undefined && after === undefined) {
          throw new AdminError('--cursor: not one that this list gave');
        }
        const accountId = await onlyAccount(database, account);
        const { entries, hasMore } = await listLedger(database, accountId, {
          size: count,
          after,
          kinds: kind,
          keyId: key,
          reference,
        });
        const { nextCursor } = presentLedger(count, entries, hasMore);
        return {
          account: accountId,
          entries: entries.map(presentEntry),
          ...(nextCursor === undefined ? {} : { nextCursor }),
        };
      }),
    )
    .command(
      'verify',
      'prove that all money adds up; exits with 1 where it does not',
      (y) => y,
      onInstallation(async (_options, { database }) => {
        const violations = await verifyLedger(database);
        if (violations.length > 0) process.exitCode = 1;
        return { holds: violations.length === 0, violations };
      }),
    )
    .command(
      'costs',
      'sum up what you may have to pay although nobody was charged: time-outs, unknown outcomes, cancelled and empty tasks, text calls beyond their holds',
      (y) =>
        y
          .option('from', { type: 'string', describe: 'first UTC day, 2026-11-01; default: 30 days' })
          .option('to', { type: 'string', describe: 'last UTC day; default: today' }),
      onInstallation(async ({ from, to }, { database }) => {
        const days = readUsageQuery({ from, to });
        return presentOperatorCosts(days, await readOperatorCosts(database, days));
      }),
    )
    .demandCommand(1, 'name a command of ledger');
}

export function usageCommand(command: Group, onInstallation: OnInstallation) {
  return command.command(
    '$0',
    'sum up what was captured of an account, and what its text calls cost beyond their holds',
    (y) =>
      y
        .option('account', ACCOUNT)
        .option('from', { type: 'string', describe: 'first UTC day, 2026-11-01; default: 30 days' })
        .option('to', { type: 'string', describe: 'last UTC day; default: today' })
        .option('group-by', { ...listOf(USAGE_GROUPS), describe: 'default: day' }),
    onInstallation(async ({ account, from, to, groupBy }, { database }) => {
      const query = readUsageQuery({ from, to, groupBy });
      const accountId = await onlyAccount(database, account);
      const [rows, exceeded] = await Promise.all([
        readUsage(database, accountId, query),
        readExceededHolds(database, accountId, query),
      ]);
      return { account: accountId, ...presentAdminUsage(query, rows, exceeded) };
    }),
  );
}

/** The requested days, and the groups. @throws {AdminError} invalid days. */
function readUsageQuery(options: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly groupBy?: readonly UsageGroup[] | undefined;
}): UsageQuery {
  const { from, to, groupBy } = options;
  const query = usageQueryOf(
    {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(groupBy === undefined ? {} : { groupBy: [...groupBy] }),
    },
    Date.now(),
  );
  if ('problem' in query) throw new AdminError(`--${query.problem}`);
  return query;
}
