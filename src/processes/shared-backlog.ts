/**
 * The backlogs of the installation, counted by one process for all: counting reads every open row, which would cost
 * the database the more, the more processes are scraped.
 */
import { readOpenBatches } from '../batches/batch-record.ts';
import type { Queryable, Statement } from '../database/database.ts';
import { readCallbackBacklog, readOpenTasks, readOutboxBacklog } from '../tasks/outbox/backlog.ts';
import type { OpenTasks } from '../tasks/outbox/backlog.ts';
import type { Backlog, Hold, StoredState } from '../telemetry/metrics-service.ts';
import { readOpenCalls } from '../text/background/call-record.ts';
import { readOpenTextHolds } from '../text/money/list-calls.ts';

/** What is counted. Ages are those of the moment when it was. */
export interface CountedBacklog {
  readonly tasks: readonly OpenTasks[];
  /** By the kind of their rows. */
  readonly outbox: readonly (readonly [string, Backlog])[];
  readonly callbacks: Backlog;
  readonly text: Hold;
  readonly backgroundCalls: StoredState['backgroundCalls'];
  readonly batches: StoredState['batches'];
}

/** For how long counts are used before some process counts anew, in seconds. */
const FRESH_SECONDS = 5;
/** For how long they are used while another process counts, in seconds: that process may be stalled. */
const USABLE_SECONDS = 60;

/** In either direction, since the clock of the database may be set back. */
const AGE = 'abs(extract(epoch FROM now() - counted_at))';

const selectCounted: Statement = {
  name: 'select_counted_backlog',
  text: `SELECT backlog, ${AGE} < ${FRESH_SECONDS} AS "isFresh", ${AGE} < ${USABLE_SECONDS} AS "isUsable",
                current_setting('transaction_read_only') = 'on' AS "isReadOnly"
           FROM counted_backlog`,
};

/** No row: another process counts, or has just counted. */
const lock: Statement = {
  name: 'lock_counted_backlog',
  text: `SELECT 1 FROM counted_backlog WHERE ${AGE} >= ${FRESH_SECONDS} FOR UPDATE SKIP LOCKED`,
};

const store: Statement = {
  name: 'store_counted_backlog',
  text: 'UPDATE counted_backlog SET backlog = $1, counted_at = now()',
};

interface CountedRow {
  readonly backlog: CountedBacklog | null;
  readonly isFresh: boolean;
  readonly isUsable: boolean;
  readonly isReadOnly: boolean;
}

/** @param transaction holds the row while this process counts. */
export async function readSharedBacklog(transaction: Queryable): Promise<CountedBacklog> {
  const [known] = await transaction.query<CountedRow>(selectCounted);
  if (known === undefined || known.isReadOnly) return countBacklog(transaction);
  if (known.backlog !== null && known.isFresh) return known.backlog;
  const isLocked = (await transaction.query(lock)).length > 0;
  if (!isLocked && known.backlog !== null && known.isUsable) return known.backlog;
  const backlog = await countBacklog(transaction);
  if (isLocked) await transaction.query(store, [JSON.stringify(backlog)]);
  return backlog;
}

/** One after the other on one connection: requests need the other connections. */
async function countBacklog(transaction: Queryable): Promise<CountedBacklog> {
  return {
    tasks: await readOpenTasks(transaction),
    outbox: [...(await readOutboxBacklog(transaction))],
    callbacks: await readCallbackBacklog(transaction),
    text: await readOpenTextHolds(transaction),
    backgroundCalls: await readOpenCalls(transaction),
    batches: await readOpenBatches(transaction),
  };
}
