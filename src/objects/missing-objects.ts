/**
 * Outputs and uploads whose bytes are not in the store: after a restore of an object store that is older than the
 * database, or a loss in the store itself. Each object is asked for by its key, so that the store need not be listed.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { ObjectNotFoundError } from './stores/object-store.ts';
import type { ObjectStore } from './stores/object-store.ts';

/** A record of an object that readers may still ask for. */
interface RecordedObject {
  readonly id: string;
  readonly accountId: string;
  /** Null: an upload. */
  readonly taskId: string | null;
  readonly objectKey: string;
  readonly sizeBytes: number;
}

/** One whose bytes are missing or of another size. */
export type MissingObject = Omit<RecordedObject, 'objectKey'>;

/** The number of rows of one statement. */
const PAGE = 500;
/** Concurrent questions to the store: enough to hide its latency, few enough not to load it. */
const AT_ONCE = 16;

const selectOutputs: Statement = {
  name: 'select_outputs_to_verify',
  text: `SELECT id, account_id AS "accountId", task_id AS "taskId", object_key AS "objectKey",
                size_bytes::float8 AS "sizeBytes"
           FROM outputs WHERE id > $1 AND gone_at IS NULL AND created_at >= $2 ORDER BY id LIMIT ${PAGE}`,
};

const selectUploads: Statement = {
  name: 'select_uploads_to_verify',
  text: `SELECT id, account_id AS "accountId", NULL AS "taskId", object_key AS "objectKey",
                size_bytes::float8 AS "sizeBytes"
           FROM files WHERE id > $1 AND gone_at IS NULL AND expires_at > now() AND created_at >= $2 ORDER BY id LIMIT ${PAGE}`,
};

/**
 * Asks the store for every object that is recorded, page by page.
 *
 * @param options.since only what was recorded from then on.
 * @param options.onPage is given the objects of a page that are missing, and how many it had, before the next is read.
 * @throws {StoreUnavailableError} the store does not respond, which says nothing of its objects.
 */
export async function findMissingObjects(
  database: Queryable,
  store: Pick<ObjectStore, 'head'>,
  options: {
    readonly since: Date;
    readonly onPage: (missing: readonly MissingObject[], checked: number) => Promise<void>;
  },
): Promise<void> {
  for (const statement of [selectOutputs, selectUploads]) {
    let after = '';
    for (;;) {
      const page = await database.query<RecordedObject>(statement, [after, options.since]);
      await options.onPage(await missingOf(store, page), page.length);
      after = page.at(-1)?.id ?? after;
      if (page.length < PAGE) break;
    }
  }
}

async function missingOf(
  store: Pick<ObjectStore, 'head'>,
  objects: readonly RecordedObject[],
): Promise<readonly MissingObject[]> {
  const missing: MissingObject[] = [];
  const rest = [...objects];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let object = rest.pop(); object !== undefined; object = rest.pop()) {
        const { objectKey, ...record } = object;
        if (!(await isStored(store, objectKey, object.sizeBytes))) missing.push(record);
      }
    }),
  );
  return missing.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function isStored(store: Pick<ObjectStore, 'head'>, key: string, sizeBytes: number): Promise<boolean> {
  try {
    return (await store.head(key)).sizeBytes === sizeBytes;
  } catch (error) {
    if (error instanceof ObjectNotFoundError) return false;
    throw error;
  }
}
