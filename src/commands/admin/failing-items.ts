/** `admin failing-items`: items that the service's passes could not process and are retrying. */
import { listFailingItems } from '../../database/failing-items.ts';
import { FAILING_KINDS } from '../../domain/failing-kind.ts';
import { Option } from '@commander-js/extra-typings';
import { wholeNumber } from '../command-line.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

const MAX_LISTED = 10_000;

export function failingItemsCommand(command: Group, onInstallation: OnInstallation): void {
  command
    .summary('items that a pass could not process')
    .description('list the objects, tasks and accounts that a pass failed to process, the longest failing first')
    .addOption(new Option('--kind <kind>', 'only this kind').choices(FAILING_KINDS))
    .option('--limit <number>', 'maximum number of items', wholeNumber(1, MAX_LISTED), 100)
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
