/**
 * The end of an output's retention (contract §5, §3 `outputGone`). Here it is only recorded: readers check
 * `retain_until` themselves, and the bytes follow later (sweep.ts).
 */
import type { Queryable, Statement } from '../../database/database.ts';

/** A pending output is left to its promotion, which has bytes reserved. */
const expireStatement: Statement = {
  name: 'expire_outputs',
  text: `UPDATE outputs SET gone_at = retain_until, gone_reason = 'expired'
          WHERE id IN (SELECT id FROM outputs
                        WHERE retain_until <= $1 AND gone_at IS NULL AND pending_since IS NULL
                        ORDER BY retain_until LIMIT $2 FOR UPDATE SKIP LOCKED)
          RETURNING id`,
};

/**
 * Records that the retention of outputs ended. Readers see them as gone from `retain_until` on; a download URL that
 * was signed in the last moment before works until its end, which is what the grace is for ("no URL dies before its
 * `expireAt`").
 *
 * @param now milliseconds since 1970. @param urlGraceSeconds the longest life of a URL.
 * @returns how many, at most `limit`.
 */
export async function expireOutputs(
  database: Queryable,
  options: { readonly now: number; readonly urlGraceSeconds: number; readonly limit: number },
): Promise<number> {
  const before = new Date(options.now - options.urlGraceSeconds * 1000);
  const rows = await database.query(expireStatement, [before, options.limit]);
  return rows.length;
}
