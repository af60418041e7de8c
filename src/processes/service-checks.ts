/**
 * Whether a process's dependencies answer, and the backlogs in the database: queried for a scrape or a probe, within a
 * time limit, and not again while an answer is fresh. An unavailable database must not delay a scrape: that is when
 * the figures are needed most.
 */
import { timeOutMs } from '../config/time-outs.ts';
import type { Queryable, Statement } from '../database/database.ts';
import { countFailingItems } from '../database/failing-items.ts';
import type { StoreClaim } from '../objects/stores/claimed-store.ts';
import {
  createUnclaimedStarts,
  readCallbackBacklog,
  readOpenTasks,
  readOutboxBacklog,
} from '../tasks/outbox/backlog.ts';
import type { OpenTasks, UnclaimedStarts } from '../tasks/outbox/backlog.ts';
import { cached, inTime, respondsInTime } from '../telemetry/dependency-checks.ts';
import type { Backlog, Hold, QueueBacklogs, ServiceState, StoredState } from '../telemetry/metrics-service.ts';
import { listStates } from '../upstreams/states.ts';
import type { Foundation } from './foundation.ts';
import { readOpenBatches } from '../batches/batch-record.ts';
import { readOpenCalls } from '../text/background/call-record.ts';
import { readOpenTextHolds } from '../text/money/list-calls.ts';

/**
 * A statement of ours that takes longer is ended by the server: the figures are not worth slowing down the database.
 */
const STATEMENT_TIMEOUT_MS = timeOutMs(5_000);
/** How long the state is reused, in milliseconds, so that two scrapers and another reader share one read. */
const STATE_FRESH_MS = 5_000;
/** How long a check of the object store is reused, in milliseconds: each writes, reads and deletes an object. */
const STORE_FRESH_MS = 15_000;
/** How long the other checks are reused, in milliseconds: probes arrive about every second. */
const CHECK_FRESH_MS = 1_000;

export interface ServiceChecks {
  isDatabaseUp(): Promise<boolean>;
  isStoreUp(): Promise<boolean>;
  isTemporalUp(): Promise<boolean>;
  /** All of them, with the backlogs. Never fails. */
  state(): Promise<ServiceState>;
}

/** How a process asks Temporal; both throw unless it answers. */
export interface TemporalChecks {
  readonly check: () => Promise<unknown>;
  readonly queueBacklogs: () => Promise<QueueBacklogs>;
}

export function createServiceChecks(
  {
    database,
    store,
    storeClaim,
    logger,
  }: Pick<Foundation, 'database' | 'store' | 'logger'> & { readonly storeClaim: Pick<StoreClaim, 'isConfirmed'> },
  temporal: TemporalChecks,
): ServiceChecks {
  const isDatabaseUp = respondsInTime(CHECK_FRESH_MS, () => database.check());
  const checkStore = respondsInTime(STORE_FRESH_MS, () => store.check());
  // Not reused: a process that has just confirmed its store is ready at once.
  const isStoreUp = async (): Promise<boolean> => storeClaim.isConfirmed() && (await checkStore());
  const isTemporalUp = respondsInTime(CHECK_FRESH_MS, temporal.check);
  const unclaimed = createUnclaimedStarts();
  const stored = cached(STATE_FRESH_MS, async (): Promise<StoredState | undefined> => {
    if (!(await isDatabaseUp())) return undefined;
    return database
      .transaction((transaction) => readStored(transaction, unclaimed))
      .catch((err: unknown) => {
        logger.warn({ err }, 'reading the backlog from the database failed');
        return undefined;
      });
  });
  const queueBacklogs = cached(STATE_FRESH_MS, async (): Promise<QueueBacklogs | undefined> => {
    if (!(await isDatabaseUp()) || !(await isTemporalUp())) return undefined;
    return readSharedQueueBacklogs(database, temporal.queueBacklogs).catch((err: unknown) => {
      logger.warn({ err }, 'reading the backlog of the task queues failed');
      return undefined;
    });
  });
  return {
    isDatabaseUp,
    isStoreUp,
    isTemporalUp,
    async state() {
      const [isStored, hasStore, hasTemporal, known, queues] = await Promise.all([
        isDatabaseUp(),
        isStoreUp(),
        isTemporalUp(),
        inTime(stored(), undefined),
        inTime(queueBacklogs(), undefined),
      ]);
      return { isDatabaseUp: isStored, isStoreUp: hasStore, isTemporalUp: hasTemporal, stored: known, queues };
    },
  };
}

const bound: Statement = {
  name: 'bound_metrics_statements',
  text: `SELECT set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', true)`,
};

/** One after the other on one connection: requests need the other connections. */
async function readStored(transaction: Queryable, unclaimed: UnclaimedStarts): Promise<StoredState> {
  await transaction.query(bound);
  const { tasks: open, outbox, callbacks, text, backgroundCalls, batches } = await readSharedBacklog(transaction);
  const starts = await unclaimed.read(transaction);
  const upstreams = await listStates(transaction);
  const failingItems = await countFailingItems(transaction);

  const none = { count: 0, oldestSeconds: 0 };
  const of = (status: 'queued' | 'handling' | 'archiving') => open.find((each) => each.status === status) ?? none;
  return {
    tasks: { queued: of('queued'), handling: of('handling'), archiving: of('archiving') },
    holds: {
      task: {
        count: open.reduce((sum, { count }) => sum + count, 0),
        microUsd: open.reduce((sum, { heldMicroUsd }) => sum + heldMicroUsd, 0),
        oldestSeconds: Math.max(0, ...open.map(({ oldestHoldSeconds }) => oldestHoldSeconds)),
      },
      text,
    },
    outbox: withStarts(new Map(outbox), starts),
    callbacks,
    backgroundCalls,
    batches,
    upstreams,
    failingItems,
  };
}

function withStarts(ready: ReadonlyMap<string, Backlog>, starts: Backlog): ReadonlyMap<string, Backlog> {
  const { count, oldestSeconds } = ready.get('start_task') ?? { count: 0, oldestSeconds: 0 };
  return new Map([
    ...ready,
    ['start_task', { count: count + starts.count, oldestSeconds: Math.max(oldestSeconds, starts.oldestSeconds) }],
  ]);
}

/** For how long an answer is used before some process asks again, in seconds. */
const ANSWER_FRESH_SECONDS = 10;
/** For how long it is used while nothing newer is known, in seconds: an autoscaler must not act on an old age. */
const ANSWER_USABLE_SECONDS = 45;

/** In either direction, since the clock of the database may be set back. */
const ageOf = (column: string): string => `abs(extract(epoch FROM now() - ${column}))`;

const selectAnswer: Statement = {
  name: 'select_queue_backlogs',
  text: `SELECT backlogs, ${ageOf('asked_at')} < ${ANSWER_FRESH_SECONDS} AS "isFresh",
                ${ageOf('answered_at')} < ${ANSWER_USABLE_SECONDS} AS "isUsable",
                current_setting('transaction_read_only') = 'on' AS "isReadOnly"
           FROM queue_backlogs`,
};

/** No row: another process has asked meanwhile. */
const claimAnswer: Statement = {
  name: 'claim_queue_backlogs',
  text: `UPDATE queue_backlogs SET asked_at = now() WHERE ${ageOf('asked_at')} >= ${ANSWER_FRESH_SECONDS} RETURNING 1`,
};

const storeAnswer: Statement = {
  name: 'store_queue_backlogs',
  text: 'UPDATE queue_backlogs SET backlogs = $1, answered_at = now()',
};

interface AnswerRow {
  readonly backlogs: QueueBacklogs | null;
  readonly isFresh: boolean;
  readonly isUsable: boolean;
  readonly isReadOnly: boolean;
}

/**
 * The backlogs of the task queues, asked for by one process for all: a server of Temporal limits the rate of such
 * questions, and every process is scraped. No lock is held while Temporal answers.
 *
 * @param ask asks Temporal.
 * @returns undefined if there is no answer that is new enough.
 * @throws what `ask` or the database throws.
 */
export async function readSharedQueueBacklogs(
  database: Queryable,
  ask: () => Promise<QueueBacklogs>,
): Promise<QueueBacklogs | undefined> {
  const [known] = await database.query<AnswerRow>(selectAnswer);
  if (known === undefined) return undefined;
  const last = known.isUsable ? (known.backlogs ?? undefined) : undefined;
  if (known.isFresh || known.isReadOnly) return last;
  if ((await database.query(claimAnswer)).length === 0) return last;
  const backlogs = await ask();
  await database.query(storeAnswer, [JSON.stringify(backlogs)]);
  return backlogs;
}

/** What is counted. Ages are those of the moment when it was. */
interface CountedBacklog {
  readonly tasks: readonly OpenTasks[];
  /** By the kind of their rows. */
  readonly outbox: readonly (readonly [string, Backlog])[];
  readonly callbacks: Backlog;
  readonly text: Hold;
  readonly backgroundCalls: StoredState['backgroundCalls'];
  readonly batches: StoredState['batches'];
}

/** For how long counts are used before some process counts anew, in seconds. */
const COUNT_FRESH_SECONDS = 5;
/** For how long they are used while another process counts, in seconds: that process may be stalled. */
const COUNT_USABLE_SECONDS = 60;

const AGE = ageOf('counted_at');

const selectCounted: Statement = {
  name: 'select_counted_backlog',
  text: `SELECT backlog, ${AGE} < ${COUNT_FRESH_SECONDS} AS "isFresh", ${AGE} < ${COUNT_USABLE_SECONDS} AS "isUsable",
                current_setting('transaction_read_only') = 'on' AS "isReadOnly"
           FROM counted_backlog`,
};

/** No row: another process counts, or has just counted. */
const lockCount: Statement = {
  name: 'lock_counted_backlog',
  text: `SELECT 1 FROM counted_backlog WHERE ${AGE} >= ${COUNT_FRESH_SECONDS} FOR UPDATE SKIP LOCKED`,
};

const storeCount: Statement = {
  name: 'store_counted_backlog',
  text: 'UPDATE counted_backlog SET backlog = $1, counted_at = now()',
};

interface CountedRow {
  readonly backlog: CountedBacklog | null;
  readonly isFresh: boolean;
  readonly isUsable: boolean;
  readonly isReadOnly: boolean;
}

/**
 * The backlogs of the installation, counted by one process for all: counting reads every open row, which would cost
 * the database the more, the more processes are scraped.
 *
 * @param transaction holds the row while this process counts.
 */
async function readSharedBacklog(transaction: Queryable): Promise<CountedBacklog> {
  const [known] = await transaction.query<CountedRow>(selectCounted);
  if (known === undefined || known.isReadOnly) return countBacklog(transaction);
  if (known.backlog !== null && known.isFresh) return known.backlog;
  const isLocked = (await transaction.query(lockCount)).length > 0;
  if (!isLocked && known.backlog !== null && known.isUsable) return known.backlog;
  const backlog = await countBacklog(transaction);
  if (isLocked) await transaction.query(storeCount, [JSON.stringify(backlog)]);
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
