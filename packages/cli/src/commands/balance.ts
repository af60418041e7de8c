/** `balance`: the available balance, today's spending, and the limits of the account. */
import type { Command } from 'commander';
import type { OpenSession } from '../session.ts';
import { facts, moment, size } from '../table.ts';
import type { WireAccount } from '@darkroom/api/tasks/account';
import type { WireUsage } from '@darkroom/api/tasks/usage';

export function addBalanceCommand(program: Command, open: OpenSession): void {
  program
    .command('balance')
    .description('show the balance, what is held, what was spent today, and the limits')
    .action(async () => {
      const { api, terminal, isJson } = await open();
      // A day of the ledger is a UTC day.
      const today = new Date().toISOString().slice(0, 10);
      const account = await api.call<WireAccount>('GET', '/account');
      const usage = await api.call<WireUsage>('GET', '/account/usage', { query: { from: today, to: today } });
      if (isJson) {
        terminal.printJson({ account, today: usage });
        return;
      }
      const { limits, usage: used } = account;
      const problems = account.callbackProblems ?? [];
      const lines = facts([
        ['account', account.status === 'active' ? account.name : `${account.name} (${account.status})`],
        ['available', `${account.available} ${account.currency}`],
        ['held', `${account.held} ${account.currency}`],
        ['balance', `${account.balance} ${account.currency}`],
        ['spent today', `${usage.total.captured} ${usage.currency} (${usage.total.count} charged, ${today} UTC)`],
        ['running', `${used['runningTasks'] ?? 0} of ${limits['runningTasks'] ?? 0} tasks`],
        ['queued', `${used['queuedTasks'] ?? 0} of ${limits['queuedTasks'] ?? 0} tasks`],
        ['stored', `${size(used['persistentBytes'] ?? 0)} of ${size(limits['persistentBytes'] ?? 0)} persistent`],
        ['rates', `${limits['createsPerMinute'] ?? 0} creates, ${limits['readsPerMinute'] ?? 0} reads a minute`],
        [
          'text',
          `${limits['textRequestsPerMinute'] ?? 0} calls, ${limits['textTokensPerMinute'] ?? 0} tokens a minute`,
        ],
        ...problems.map(
          ({ origin, failingSince }) => ['callbacks', `${origin} takes none since ${moment(failingSince)}`] as const,
        ),
      ]);
      for (const line of lines) terminal.print(line);
    });
}
