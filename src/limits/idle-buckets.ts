/**
 * Forgetting rate limits that nobody uses: a bucket that is not there is full, and one that was left alone for minutes is
 * full as well.
 */
import type { Queryable, Statement } from '../database/database.ts';

const deleteIdle: Statement = {
  name: 'delete_idle_rate_buckets',
  text: 'DELETE FROM rate_buckets WHERE updated_at < $1',
};

/** Deletes the buckets that nobody took from since a moment. @param before milliseconds since 1970. */
export async function deleteIdleBuckets(database: Queryable, before: number): Promise<void> {
  await database.query(deleteIdle, [new Date(before)]);
}
