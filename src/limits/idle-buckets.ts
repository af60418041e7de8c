/**
 * Deletes unused rate limits: a bucket that does not exist is full, and one that was left alone for minutes is full
 * as well.
 */
import type { Queryable, Statement } from '../database/database.ts';

const deleteIdle: Statement = {
  name: 'delete_idle_rate_buckets',
  text: 'DELETE FROM rate_buckets WHERE updated_at < $1',
};

/** Deletes the buckets from which nothing was taken since a moment. @param before milliseconds since 1970. */
export async function deleteIdleBuckets(database: Queryable, before: number): Promise<void> {
  await database.query(deleteIdle, [new Date(before)]);
}
