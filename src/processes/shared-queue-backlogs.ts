/**
 * The backlogs of the task queues, asked for by one process for all: a server of Temporal limits the rate of such
 * questions, and every process is scraped. No lock is held while Temporal answers.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { QueueBacklogs } from '../telemetry/metrics-service.ts';

/** For how long an answer is used before some process asks again, in seconds. */
const FRESH_SECONDS = 10;
/** For how long it is used while nothing newer is known, in seconds: an autoscaler must not act on an old age. */
const USABLE_SECONDS = 45;

/** In either direction, since the clock of the database may be set back. */
const ageOf = (column: string): string => `abs(extract(epoch FROM now() - ${column}))`;

const select: Statement = {
  name: 'select_queue_backlogs',
  text: `SELECT backlogs, ${ageOf('asked_at')} < ${FRESH_SECONDS} AS "isFresh",
                ${ageOf('answered_at')} < ${USABLE_SECONDS} AS "isUsable",
                current_setting('transaction_read_only') = 'on' AS "isReadOnly"
           FROM queue_backlogs`,
};

/** No row: another process has asked meanwhile. */
const claim: Statement = {
  name: 'claim_queue_backlogs',
  text: `UPDATE queue_backlogs SET asked_at = now() WHERE ${ageOf('asked_at')} >= ${FRESH_SECONDS} RETURNING 1`,
};

const store: Statement = {
  name: 'store_queue_backlogs',
  text: 'UPDATE queue_backlogs SET backlogs = $1, answered_at = now()',
};

interface Row {
  readonly backlogs: QueueBacklogs | null;
  readonly isFresh: boolean;
  readonly isUsable: boolean;
  readonly isReadOnly: boolean;
}

/**
 * @param ask asks Temporal.
 * @returns undefined if there is no answer that is new enough.
 * @throws what `ask` or the database throws.
 */
export async function readSharedQueueBacklogs(
  database: Queryable,
  ask: () => Promise<QueueBacklogs>,
): Promise<QueueBacklogs | undefined> {
  const [known] = await database.query<Row>(select);
  if (known === undefined) return undefined;
  const last = known.isUsable ? (known.backlogs ?? undefined) : undefined;
  if (known.isFresh || known.isReadOnly) return last;
  if ((await database.query(claim)).length === 0) return last;
  const backlogs = await ask();
  await database.query(store, [JSON.stringify(backlogs)]);
  return backlogs;
}
