/** `admin ledger` and `admin usage`: ledger entries, their sums, and the check that everything adds up. */
import { MARGIN_GROUPS } from '@darkroom/api/facts/margin-groups';
import { LEDGER_KINDS } from '@darkroom/api/facts/ledger-kinds';
import { effectOf, listLedger } from '../../billing/ledger-list.ts';
import type { LedgerEntry } from '../../billing/ledger-list.ts';
import { readExceededHolds, readOperatorCosts } from '../../billing/operator-costs.ts';
import { readMargins } from '../../billing/task-costs.ts';
import { USAGE_GROUPS } from '@darkroom/api/facts/usage-groups';
import { readUsage } from '../../billing/usage.ts';
import type { UsageGroup } from '@darkroom/api/facts/usage-groups';
import type { UsageQuery } from '../../billing/usage.ts';
import { verifyLedger } from '../../billing/verify.ts';
import { formatUsd } from '../../domain/money.ts';
import { UNKNOWN_CURSOR } from '../../domain/darkroom-error.ts';
import { presentAdminUsage, presentMargins, presentOperatorCosts, usageQueryOf } from '../../presenters/usage.ts';
import { presentLedger, readLedgerCursor } from '../../presenters/ledger.ts';
import { listOption, wholeNumber } from '../command-line.ts';
import { AdminError } from './admin-error.ts';
import { ACCOUNT, onlyAccount } from './arguments.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

const MAX_ENTRIES = 1_000;
const FROM = ['--from <day>', 'first UTC day, 2026-11-01; default: 30 days'] as const;
const TO = ['--to <day>', 'last UTC day; default: today'] as const;

export function ledgerCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('list')
    .description('list the ledger entries of an account, newest first')
    .option(...ACCOUNT)
    .option('--size <number>', `entries, at most ${MAX_ENTRIES}`, wholeNumber(1, MAX_ENTRIES), 20)
    .option('--cursor <cursor>', '`nextCursor` of the previous page')
    .addOption(listOption('--kind <kinds...>', 'any of them', LEDGER_KINDS))
    .option('--key <key>', 'entries for requests of this key')
    .option('--reference <reference>', 'a task, a payment, storage:<account>:<day>')
    .action(
      onInstallation(async ({ database }, { account, size, cursor, kind, key, reference }) => {
        const after = cursor === undefined ? undefined : readLedgerCursor(cursor);
        if (cursor !== undefined && after === undefined) {
          throw new AdminError(`--cursor: ${UNKNOWN_CURSOR}`);
        }
        const accountId = await onlyAccount(database, account);
        const { entries, hasMore } = await listLedger(database, accountId, {
          size,
          after,
          kinds: kind,
          keyId: key,
          reference,
        });
        const { nextCursor } = presentLedger(size, entries, hasMore);
        return {
          account: accountId,
          entries: entries.map(presentEntry),
          ...(nextCursor === undefined ? {} : { nextCursor }),
        };
      }),
    );
  group
    .command('verify')
    .description('verify the ledger; exits with 1 if it does not add up')
    .action(
      onInstallation(async ({ database }) => {
        const violations = await verifyLedger(database);
        if (violations.length > 0) process.exitCode = 1;
        return { holds: violations.length === 0, violations };
      }),
    );
  group
    .command('costs')
    .description(
      'report what providers may bill although no account was charged: timeouts, unknown outcomes, cancelled and empty tasks, text calls beyond their holds',
    )
    .option(...FROM)
    .option(...TO)
    .action(
      onInstallation(async ({ database }, { from, to }) => {
        const days = readUsageQuery({ from, to });
        return presentOperatorCosts(days, await readOperatorCosts(database, days));
      }),
    );
}

function presentEntry(entry: LedgerEntry): Record<string, unknown> {
  return {
    at: entry.createdAt.toISOString(),
    kind: entry.kind,
    reference: entry.reference,
    amount: formatUsd(entry.amountMicroUsd),
    change: formatUsd(effectOf(entry).availableMicroUsd),
    available: formatUsd(entry.availableAfterMicroUsd),
    held: formatUsd(entry.heldAfterMicroUsd),
    keyId: entry.keyId,
    model: entry.model,
    ...(entry.isEstimated ? { isEstimated: true } : {}),
  };
}

export function marginsCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('costs and margins of tasks and text calls')
    .description(
      'report what was captured for tasks and text calls, what they cost the operator, and the margin; a negative margin is a loss, and - stands for an unknown one',
    )
    .option(...FROM)
    .option(...TO)
    .addOption(listOption('--group-by <groups...>', 'default: model', MARGIN_GROUPS))
    .action(
      onInstallation(async ({ database }, { from, to, groupBy }) => {
        const query = { ...readUsageQuery({ from, to }), groupBy: groupBy ?? (['model'] as const) };
        return presentMargins(query, await readMargins(database, query));
      }),
    );
}

export function usageCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('captured amounts, by day, model and key')
    .description('report the captured amounts of an account, and what its text calls cost beyond their holds')
    .option(...ACCOUNT)
    .option(...FROM)
    .option(...TO)
    .addOption(listOption('--group-by <groups...>', 'default: day', USAGE_GROUPS))
    .option('--user <user>', 'of this end user')
    .action(
      onInstallation(async ({ database }, { account, from, to, groupBy, user }) => {
        const query = readUsageQuery({ from, to, groupBy, user });
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
  readonly user?: string | undefined;
}): UsageQuery {
  const { from, to, groupBy, user } = options;
  const query = usageQueryOf(
    {
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
      ...(groupBy === undefined ? {} : { groupBy: [...groupBy] }),
      ...(user === undefined ? {} : { user }),
    },
    Date.now(),
  );
  if ('problem' in query) throw new AdminError(`--${query.problem}`);
  return query;
}
