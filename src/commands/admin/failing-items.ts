/** `admin failing-items`: items that the service's passes could not process and are retrying. */
import { listFailingItems } from '../../database/failing-items.ts';
import { FAILING_KINDS } from '../../domain/failing-kind.ts';
import type { Group } from './arguments.ts';
import { readWhole } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

const MAX_LISTED = 10_000;

export function failingItemsCommand(command: Group, onInstallation: OnInstallation) {
  return command.command(
    '$0',
    'list the objects, tasks and accounts that a pass failed to deal with, the longest failing first',
    (y) =>
      y
        .option('kind', { choices: FAILING_KINDS, describe: 'of this kind alone' })
        .option('limit', { type: 'number', default: 100, describe: 'how many' }),
    onInstallation(async ({ kind, limit }, { database }) => {
      const items = await listFailingItems(database, { kind, limit: readWhole('limit', limit, 1, MAX_LISTED) });
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
