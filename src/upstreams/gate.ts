/**
 * Whether a task may go to an upstream at this moment: its cap, its pause and its breaker, shared by all workers
 * (architecture, "Rate limits and fair shares"), so that no request pays a round trip for them. What is known
 * of an upstream is read once a second by a process that uses it; only a cap costs a statement for each task. Where the
 * cap is reached a task joins the queue of the upstream and is told when it has a slot: nobody asks again.
 *
 * Nothing here is worth a task: what could not be written down is logged, and the upstream will say it again.
 */
import type { Database, Queryable } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { UpstreamDatabase } from '../limits/upstream-database.ts';
import type { Logger } from '../telemetry/log.ts';
import { createDepartures } from './departures.ts';
import {
  MAX_ADMISSIONS,
  admitWaiting,
  joinQueue,
  leaveQueue,
  listQueuesOf,
  lockUpstream,
  pruneQueue,
} from './queue.ts';
import type { Admission } from './queue.ts';
import { giveBackSlot, sweepSlots, takeSlot } from './slots.ts';
import {
  SOUND,
  claimUpstreamProbe,
  countUpstreamFailure,
  forgetUpstreamFailures,
  pauseUpstream,
  readState,
} from './states.ts';
import type { UpstreamState } from './states.ts';

/** An upstream as the gate knows it. */
export interface GatedUpstream {
  /** The same for every binding that goes to the same place (activities/task-route.ts). */
  readonly name: string;
  /**
   * How many of its jobs may be under way at once, as the task's definition says, where no api has published which cap is in
   * force (published-caps.ts); undefined: any number.
   */
  readonly concurrency?: number | undefined;
}

/** What a task is told that wants to go there. */
export type Entry =
  | { readonly kind: 'open' }
  /** It is paused, or its breaker is open; for this long as far as is known, in milliseconds. */
  | { readonly kind: 'closed'; readonly waitMs: number }
  /** Its cap is reached: the task is in the queue, and handled for so long, in milliseconds. */
  | { readonly kind: 'full'; readonly waitedMs: number };

/** Wakes a task that has waited and has a slot now. In the transaction that gives it the slot. */
export type Wake = (transaction: Queryable, admission: Admission) => Promise<void>;

/**
 * What a submit says of the upstream itself: `answered`, whatever the answer was; `failed`, no answer or 5xx; or for how
 * many milliseconds it asks to be left alone.
 */
export type Health = 'answered' | 'failed' | { readonly pauseMs: number };

/** The gates of all upstreams, for one process. */
export interface UpstreamGate {
  /**
   * Asks to go in, and takes a slot where there is a cap, or joins the queue. Whoever was let in, or is in the queue, and
   * does not leave a job there must `leave`. A task that has a slot keeps it while the upstream is closed.
   *
   * @throws {DatabaseUnavailableError} nothing is known: try again.
   */
  enter(upstream: GatedUpstream, task: Admission): Promise<Entry>;
  /**
   * The task has no job there any more, or never had one, and waits for none; its slot is the next one's. Twice is the
   * same as once; never fails.
   */
  leave(upstream: GatedUpstream, taskId: TaskId): Promise<void>;
  /**
   * Frees what tasks that are over have left behind, and lets in who waits for it: a matter of once a minute, because
   * everybody who leaves does that for himself. Never fails.
   */
  tidyQueues(): Promise<void>;
  /** Takes in what a submit, or a question about a job, has shown. Never fails. */
  report(upstream: GatedUpstream, health: Health): Promise<void>;
  /** For how many milliseconds the upstream wants to be left alone. Never fails. */
  pausedMs(upstream: GatedUpstream): Promise<number>;
}

/** What is known is good for this long. */
const FRESH_MS = 1_000;
/** An upstream that is full is looked through for forgotten slots this often. */
const SWEEP_INTERVAL_MS = 5_000;
/** A breaker may close before its time, when the one that tries succeeds: it is looked at again after this long. */
const BROKEN_WAIT_MS = 5_000;

interface Known {
  readonly readAt: number;
  readonly state: UpstreamState;
}

export function createUpstreamGate({
  database,
  upstreamDatabase = () => database,
  logger,
  wake = () => Promise.resolve(),
  now = () => performance.now(),
}: {
  readonly database: Database;
  /** For what locks the row of an upstream; default: the same, without a bound by upstream. */
  readonly upstreamDatabase?: UpstreamDatabase;
  readonly logger: Logger;
  /** Default: nobody waits. */
  readonly wake?: Wake;
  /** Milliseconds; only differences count. */
  readonly now?: () => number;
}): UpstreamGate {
  const known = new Map<string, Known>();
  const reading = new Map<string, Promise<UpstreamState>>();
  const sweptAt = new Map<string, number>();

  /** Where the upstream stands now, as read within the last second; many who ask at once are one read. */
  const stateOf = async (name: string): Promise<UpstreamState> => {
    const entry = known.get(name);
    const ageMs = entry === undefined ? Infinity : now() - entry.readAt;
    if (entry !== undefined && ageMs < FRESH_MS) {
      const { state } = entry;
      return { ...state, pausedMs: Math.max(0, state.pausedMs - ageMs), openMs: Math.max(0, state.openMs - ageMs) };
    }
    const running = reading.get(name);
    if (running !== undefined) return running;
    const read = readState(database, name)
      .then((state) => {
        known.set(name, { readAt: now(), state });
        return state;
      })
      .finally(() => reading.delete(name));
    reading.set(name, read);
    return read;
  };

  const quietly = async (upstream: GatedUpstream, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (err) {
      logger.warn({ err, upstream: upstream.name }, 'what is known of an upstream could not be written down');
    }
  };

  /** Changes the slots and the queue of an upstream, and lets in who may go in afterwards. @returns who was let in. */
  const change = (
    name: string,
    work: (transaction: Queryable) => Promise<unknown>,
    { isAwake, isLeaving }: { readonly isAwake?: TaskId; readonly isLeaving?: boolean } = {},
  ): Promise<readonly Admission[]> =>
    upstreamDatabase(name, isLeaving).transaction(async (transaction) => {
      if (!(await lockUpstream(transaction, name))) return [];
      await work(transaction);
      const admissions = await admitWaiting(transaction, name);
      for (const admission of admissions) if (admission.taskId !== isAwake) await wake(transaction, admission);
      return admissions;
    });

  const sweep = async (transaction: Queryable, name: string): Promise<void> => {
    sweptAt.set(name, now());
    const freed = await sweepSlots(transaction, name);
    if (freed > 0) logger.info({ upstream: name, freed }, 'slots of tasks that are over were freed');
  };

  const takeOrWait = async (name: string, cap: number | undefined, task: Admission): Promise<Entry> => {
    if (cap === undefined || (await takeSlot(upstreamDatabase(name), name, task, cap))) return { kind: 'open' };
    let waitedMs = 0;
    const join = async (transaction: Queryable): Promise<void> => {
      if (now() - (sweptAt.get(name) ?? -Infinity) >= SWEEP_INTERVAL_MS) await sweep(transaction, name);
      waitedMs = await joinQueue(transaction, name, task, cap);
    };
    const admissions = await change(name, join, { isAwake: task.taskId });
    const isIn = admissions.some(({ taskId }) => taskId === task.taskId);
    return isIn ? { kind: 'open' } : { kind: 'full', waitedMs };
  };

  const depart = (name: string, taskIds: readonly TaskId[]): Promise<readonly Admission[]> => {
    const work = async (transaction: Queryable): Promise<void> => {
      for (const taskId of taskIds) {
        await leaveQueue(transaction, name, taskId);
        await giveBackSlot(transaction, name, taskId);
      }
    };
    return change(name, work, { isLeaving: true });
  };
  const departures = createDepartures({ depart, logger });

  const leave = (upstream: GatedUpstream, taskId: TaskId): Promise<void> =>
    quietly(upstream, async () => {
      const { name, concurrency } = upstream;
      if (concurrency === undefined && !mayHaveSlots(await stateOf(name))) return;
      await departures.leave(name, taskId);
    });

  const tidy = (name: string): Promise<readonly Admission[]> =>
    change(name, async (transaction) => {
      await sweep(transaction, name);
      await pruneQueue(transaction, name);
    });

  return {
    leave,

    async enter(upstream, task) {
      await departures.recall(upstream.name, task.taskId);
      const state = await stateOf(upstream.name);
      const waitMs = Math.max(state.pausedMs, Math.min(state.openMs, BROKEN_WAIT_MS));
      if (waitMs > 0) return { kind: 'closed', waitMs };
      const entry = await takeOrWait(upstream.name, capOf(upstream, state), task);
      if (entry.kind !== 'open' || !state.isBroken) return entry;
      known.delete(upstream.name);
      if (await claimUpstreamProbe(upstreamDatabase(upstream.name), upstream.name)) return { kind: 'open' };
      await leave(upstream, task.taskId);
      return { kind: 'closed', waitMs: BROKEN_WAIT_MS };
    },

    async report(upstream, health) {
      const { name } = upstream;
      const state = known.get(name)?.state;
      if (health === 'failed') {
        await quietly(upstream, async () => {
          const isBroken = await countUpstreamFailure(upstreamDatabase(name), name);
          if (isBroken) logger.warn({ upstream: name }, 'an upstream keeps failing and is left alone for a while');
        });
        known.delete(name);
        return;
      }
      if (state === undefined || state.isBroken || state.failures > 0) {
        await quietly(upstream, () => forgetUpstreamFailures(upstreamDatabase(name), name));
        known.delete(name);
      }
      if (health === 'answered' || health.pauseMs <= 0) return;
      const { pauseMs } = health;
      logger.info({ upstream: name, pauseMs }, 'an upstream asks to be left alone');
      await quietly(upstream, () => pauseUpstream(upstreamDatabase(name), name, pauseMs));
      known.delete(name);
    },

    async tidyQueues() {
      const names = await listQueuesOf(database).catch((err: unknown) => {
        logger.warn({ err }, 'the queues of upstreams could not be read');
        return [];
      });
      for (const name of names) {
        await quietly({ name }, async () => {
          while ((await tidy(name)).length === MAX_ADMISSIONS);
        });
      }
    },

    async pausedMs({ name }) {
      try {
        return (await stateOf(name)).pausedMs;
      } catch {
        return SOUND.pausedMs;
      }
    },
  };
}

/** What was the cap when the state was read; what it is when a slot is taken is judged there (slots.ts). */
function capOf({ concurrency }: GatedUpstream, { isCapPublished, cap }: UpstreamState): number | undefined {
  return isCapPublished ? (cap ?? undefined) : concurrency;
}

/** Whether tasks may have a slot there whose own models know of no cap. */
function mayHaveSlots({ cap, hasJobs }: UpstreamState): boolean {
  return cap !== null || hasJobs;
}
