/**
 * Whether a process's dependencies answer, and the backlogs in the database: queried for a scrape or a probe, within a
 * time limit, and not again while an answer is fresh. An unavailable database must not delay a scrape: that is when
 * the figures are needed most.
 */
import { timeOutMs } from '../config/time-outs.ts';
import type { Queryable, Statement } from '../database/database.ts';
import { countFailingItems } from '../database/failing-items.ts';
import type { StoreClaim } from '../objects/stores/claimed-store.ts';
import { createUnclaimedStarts } from '../tasks/outbox/unclaimed-starts.ts';
import type { UnclaimedStarts } from '../tasks/outbox/unclaimed-starts.ts';
import { respondsInTime, cached, inTime } from '../telemetry/dependency-checks.ts';
import type { Backlog, QueueBacklogs, ServiceState, StoredState } from '../telemetry/metrics-service.ts';
import { listStates } from '../upstreams/states.ts';
import type { Foundation } from './foundation.ts';
import { readSharedBacklog } from './shared-backlog.ts';
import { readSharedQueueBacklogs } from './shared-queue-backlogs.ts';

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
