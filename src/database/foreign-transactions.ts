/**
 * Events of a database that was restored into another server: their transactions have yet to come there, so they
 * would look new to every reader of the feed (tasks/listing/feed.ts) until then. After such a restore these are all
 * events, which is why they are changed batch by batch, each a transaction of its own: a run that was interrupted
 * continues where it was.
 */
import type pg from 'pg';
import type { Logger } from '../telemetry/log.ts';

/**
 * The number of table pages in one statement: 32 MB or some 200,000 events, which take 5 to 10 s on a small machine.
 */
const PAGES_AT_ONCE = 4_000;

const IS_FOREIGN = 'xid > pg_snapshot_xmax(pg_current_snapshot())';

/** The ORDER BY makes it use its index, so that it costs nothing if there is none. */
const HAS_FOREIGN = `SELECT EXISTS (SELECT 1 FROM task_events WHERE ${IS_FOREIGN} ORDER BY xid DESC LIMIT 1) AS "hasForeign"`;

/** What is written from now on, the changed events included, belongs to this server: later pages need not be read. */
const COUNT_PAGES = `SELECT (pg_relation_size('task_events') / current_setting('block_size')::integer)::float8 AS pages`;

/**
 * By the pages of the table and not by `xid`: in that index each batch would have to skip what those before it left
 * behind.
 */
const FORGET = `UPDATE task_events SET xid = pg_snapshot_xmin(pg_current_snapshot())
                 WHERE ctid >= $1::tid AND ctid < $2::tid AND ${IS_FOREIGN}`;

/**
 * Turns transactions of another server into ones that are long over. May be interrupted, and run again.
 *
 * @param client has no statement timeout, and holds the migration lock.
 * @param pagesAtOnce how much of the table is a batch, in pages of the server.
 */
export async function forgetForeignTransactions(
  client: pg.Client,
  logger: Logger,
  pagesAtOnce = PAGES_AT_ONCE,
): Promise<void> {
  const { rows: found } = await client.query<{ hasForeign: boolean }>(HAS_FOREIGN);
  if (found[0]?.hasForeign !== true) return;
  const { rows: counted } = await client.query<{ pages: number }>(COUNT_PAGES);
  const ofPages = counted[0]?.pages ?? 0;
  logger.info({ ofPages }, 'events belong to another server, as after a restore; clearing their transactions');
  // Nothing else changes events; an index that is being built is waited for.
  await client.query('SET lock_timeout = 0');
  let events = 0;
  for (let page = 0; page < ofPages; page += pagesAtOnce) {
    const end = Math.min(page + pagesAtOnce, ofPages);
    const { rowCount } = await client.query(FORGET, [`(${page},0)`, `(${end},0)`]);
    events += rowCount ?? 0;
    logger.info({ events, pages: end, ofPages }, 'transactions of another server were forgotten');
  }
}
