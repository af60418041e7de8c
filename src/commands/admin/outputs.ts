/** `admin outputs`: stored outputs of any account, and whether the store still has them. */
import { loadStoreConfig } from '../../config/config.ts';
import { readDatabaseTime } from '../../database/database-clock.ts';
import type { Database } from '../../database/database.ts';
import { readInstallationId } from '../../database/migrate.ts';
import { findMissingObjects } from '../../objects/missing-objects.ts';
import type { MissingObject } from '../../objects/missing-objects.ts';
import { OutputNotFoundError, markOutputDeleted } from '../../objects/outputs/outputs.ts';
import type { ObjectStore } from '../../objects/stores/object-store.ts';
import { openStore } from '../../objects/stores/open-store.ts';
import { UploadNotFoundError, markUploadDeleted } from '../../objects/uploads.ts';
import { describeForeignOwner, markStore, readOwner } from '../../objects/stores/claimed-store.ts';
import { AdminError } from './admin-error.ts';
import type { Group } from './arguments.ts';
import type { OnInstallation } from './installation.ts';

/** How many missing objects are printed; all are counted. */
const MAX_PRINTED = 1_000;

export function outputCommands(group: Group, onInstallation: OnInstallation): void {
  group
    .command('delete')
    .description('delete an output; its URLs stop working at once, its bytes are deleted within minutes')
    .argument('<output>')
    .action(
      onInstallation(async ({ database }, output) => {
        await markOutputDeleted(database, output);
        return { output, deleted: true };
      }),
    );
  group
    .command('verify')
    .description('ask the store for every output and upload; exits with 1 if one is missing')
    .option('--since <time>', 'only those recorded from then on, 2026-11-01T00:00:00Z; default: all', readTime)
    .option('--delete-missing', 'mark outputs and uploads whose bytes are missing as deleted, which ends storage fees')
    .action(
      onInstallation(async ({ database, environment }, { since, deleteMissing }) => {
        const store = await openStore(loadStoreConfig(environment));
        try {
          return await verifyOutputs(database, store, {
            since: since ?? new Date(0),
            isDeleting: deleteMissing === true,
          });
        } finally {
          await store.close();
        }
      }),
    );
  group
    .command('adopt-store')
    .description(
      'mark the store of STORE_URL as the one of this installation, in place of one that is lost or whose objects were left behind',
    )
    .action(
      onInstallation(async ({ database, environment }) => {
        const config = loadStoreConfig(environment);
        const store = await openStore(config);
        try {
          const [owner, installation] = [await readOwner(store), await readInstallationId(database)];
          if (owner !== undefined && owner !== installation)
            throw new AdminError(describeForeignOwner(owner, installation));
          if (owner === undefined) await markStore(store, installation);
          return { installation, store: config.storeUrl, marked: owner === undefined };
        } finally {
          await store.close();
        }
      }),
    );
}

function readTime(text: string): Date {
  const time = /^\d{4}-\d{2}-\d{2}(?:T|$)/.test(text) ? new Date(text) : new Date(NaN);
  if (Number.isNaN(time.getTime()))
    throw new AdminError(`--since: "${text}" is not a time such as 2026-11-01T00:00:00Z`);
  return time;
}

async function verifyOutputs(
  database: Database,
  store: ObjectStore,
  { since, isDeleting }: { readonly since: Date; readonly isDeleting: boolean },
): Promise<Record<string, unknown>> {
  await requireOwnStore(database, store, isDeleting);
  const outputs: MissingObject[] = [];
  const uploads: MissingObject[] = [];
  const counts = { checked: 0, missingOutputs: 0, missingUploads: 0, deleted: 0 };
  await findMissingObjects(database, store, {
    since,
    async onPage(missing, checked) {
      counts.checked += checked;
      for (const object of missing) {
        const isOutput = object.taskId !== null;
        counts[isOutput ? 'missingOutputs' : 'missingUploads'] += 1;
        const printed = isOutput ? outputs : uploads;
        if (printed.length < MAX_PRINTED) printed.push(object);
        if (isDeleting && (await isDeletedNow(database, object))) counts.deleted += 1;
      }
    },
  });
  if (counts.missingOutputs + counts.missingUploads > 0) process.exitCode = 1;
  return {
    ...counts,
    outputs: outputs.map(({ id, taskId, accountId, sizeBytes }) => ({
      output: id,
      task: taskId,
      account: accountId,
      sizeBytes,
    })),
    uploads: uploads.map(({ id, accountId, sizeBytes }) => ({ file: id, account: accountId, sizeBytes })),
  };
}

/** In the store of another installation, or of none, everything would be missing. */
async function requireOwnStore(database: Database, store: ObjectStore, isDeleting: boolean): Promise<void> {
  const [owner, installation] = [await readOwner(store), await readInstallationId(database)];
  if (owner === installation || (owner === undefined && !isDeleting)) return;
  if (owner !== undefined) throw new AdminError(describeForeignOwner(owner, installation));
  throw new AdminError(
    'STORE_URL names a store without the mark of an installation, so that it may be the wrong one; nothing was deleted. An api or worker that starts marks it; `outputs adopt-store` does so where the store is to take the place of one that is lost',
  );
}

/** @returns false if it was deleted meanwhile, or has expired. */
async function isDeletedNow(database: Database, { id, taskId, accountId }: MissingObject): Promise<boolean> {
  try {
    if (taskId !== null) await markOutputDeleted(database, id);
    else await markUploadDeleted(database, accountId, id, await readDatabaseTime(database));
    return true;
  } catch (error) {
    if (error instanceof OutputNotFoundError || error instanceof UploadNotFoundError) return false;
    throw error;
  }
}
