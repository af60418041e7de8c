/**
 * Whether a task may go to an upstream at this moment: its cap, its pause and its circuit breaker, shared by all
 * workers (architecture, "Rate limits and fair shares"), so that no request pays a round trip for them. The state of
 * an upstream is read once a second by a process that uses it; only a cap costs a statement for each task. When the
 * cap is reached, a task joins the queue of the upstream and is notified when it has a slot; it does not poll.
 *
 * No error here fails a task: what could not be recorded is logged, and the upstream will report it again.
 */
import { createBatches } from '../database/batches.ts';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Database, Queryable } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { UpstreamDatabase } from '../limits/row-databases.ts';
import type { Logger } from '../telemetry/log.ts';
import { createBalancer } from './balance.ts';
import type { Balancer } from './balance.ts';
import { createSlotReleases } from './slot-releases.ts';
import {
  MAX_ADMISSIONS,
  acquireSlot,
  admitWaiting,
  findSlot,
  joinQueue,
  leaveQueue,
  listQueuesOf,
  lockUpstream,
  pruneQueue,
  readPositions,
  releaseSlot,
  sweepSlots,
} from './slots.ts';
import type { Admission } from './slots.ts';
import {
  ANSWER_INTERVAL_MS,
  HEALTHY,
  claimUpstreamProbe,
  countUpstreamFailure,
  forgetUpstreamFailures,
  pauseUpstream,
  readState,
  readStates,
  recordCredentialProblem,
} from './states.ts';
import type { PauseReason, UpstreamState } from './states.ts';

/** An upstream as the gate knows it. */
export interface GatedUpstream {
  /** The same for every binding that goes to the same destination (src/generation/task-route.ts). */
  readonly name: string;
  /**
   * How many of its jobs may run at once, according to the task's definition, if no API process has published the cap
   * in force (published-caps.ts); undefined: any number.
   */
  readonly concurrency?: number | undefined;
  /** Whether its jobs are counted although any number may run at once. */
  readonly isCounted?: boolean;
}

/** The result for a task that wants to go there. */
export type Entry =
  | { readonly kind: 'open' }
  /** The upstream is paused or drained, or its circuit breaker is open, as far as is known for `waitMs`. */
  | { readonly kind: 'closed'; readonly waitMs: number; readonly pauseReason: PauseReason | null }
  /**
   * The upstream's concurrency limit is reached. The task is in the queue, unless it does not join, and has been waiting
   * for `waitedMs`.
   */
  | { readonly kind: 'full'; readonly waitedMs: number };

/**
 * Wakes a task that has waited and now has a slot, in the transaction that gives it the slot.
 *
 * @returns what to do once that is committed, if anything; it never throws.
 */
export type Wake = (transaction: Queryable, admission: Admission) => Promise<(() => void) | undefined>;

/**
 * What a request shows about the upstream itself: `answered`, whatever the response was; `failed`, no response or 5xx;
 * or for how many milliseconds it asks us to back off, or its credential cannot be used. With a reason and a pause of 0
 * it is not paused: the problem is only recorded.
 */
export type Health = 'answered' | 'failed' | { readonly pauseMs: number; readonly reason?: PauseReason };

/** The gates of all upstreams, for one process. */
export interface UpstreamGate {
  /** The order in which to try the members of a pool. */
  readonly sort: Balancer['sort'];
  /**
   * Where a task has a slot, or is in the queue: by name, whether it has the slot.
   *
   * @throws {DatabaseUnavailableError} nothing is known: try again.
   */
  positionsOf(taskId: TaskId, upstreams: readonly GatedUpstream[]): Promise<Map<string, boolean>>;
  /**
   * Requests entry: takes a slot if there is a cap, or joins the queue. A task that was admitted, or is in the queue,
   * and does not leave a job there must be released. A task that has a slot keeps it while the upstream is closed.
   *
   * @param joins whether it joins the queue; default: yes.
   * @throws {DatabaseUnavailableError} nothing is known: try again.
   */
  enter(upstream: GatedUpstream, task: Admission, joins?: boolean): Promise<Entry>;
  /**
   * The task no longer has, or never had, a job there, and waits for none; its slot goes to the next task. Idempotent;
   * never fails.
   */
  release(upstream: GatedUpstream, taskId: TaskId): Promise<void>;
  /**
   * Frees what tasks that have ended left behind, and admits the tasks that wait for it: once a minute is enough,
   * because every task that leaves does that itself. Never fails.
   */
  tidyQueues(): Promise<void>;
  /** Records what a submit, or a poll of a job, has shown. Never fails. */
  report(upstream: GatedUpstream, health: Health): Promise<void>;
  /** For how many milliseconds the upstream asks us to back off. Never fails. */
  pausedMs(upstream: GatedUpstream): Promise<number>;
  /**
   * The state of an upstream as it was read within the last second.
   *
   * @throws {DatabaseUnavailableError} nothing is known: try again.
   */
  stateOf(upstream: GatedUpstream): Promise<UpstreamState>;
}

/** Known state is valid for this long. */
const FRESH_MS = 1_000;
/** How often a full upstream is searched for forgotten slots. */
const SWEEP_INTERVAL_MS = 5_000;
/** A circuit breaker may close early, when the task that tries succeeds: it is checked again after this long. */
const BROKEN_WAIT_MS = 5_000;
/** An operator may resume a drained upstream at any time: it is checked again after this long. */
const DRAINED_WAIT_MS = 5_000;
/** The maximum number of changes to one upstream in one transaction, each of which takes some statements. */
const MAX_TOGETHER = 50;
/** A cap that no upstream reaches, where jobs are only counted. */
const UNLIMITED = 1_000_000_000;

/** A change to the slots or the queue of an upstream. */
interface Change {
  readonly work: (transaction: Queryable) => Promise<unknown>;
  /** The task that makes it, and `resolve` reports whether it was admitted. */
  readonly taskId: TaskId | undefined;
  readonly isLeaving: boolean;
  readonly resolve: (admissions: readonly Admission[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Known {
  readonly readAt: number;
  readonly state: UpstreamState;
}

export function createUpstreamGate({
  database,
  upstreamDatabase = () => database,
  logger,
  wake = () => Promise.resolve(undefined),
  now = () => performance.now(),
}: {
  readonly database: Database;
  /**
   * The database for statements that lock the row of an upstream; default: `database`, without a limit per upstream.
   */
  readonly upstreamDatabase?: UpstreamDatabase;
  readonly logger: Logger;
  /** Default: no task waits. */
  readonly wake?: Wake;
  /** Milliseconds; only differences count. */
  readonly now?: () => number;
}): UpstreamGate {
  const known = new Map<string, Known>();
  const reading = new Map<string, Promise<UpstreamState>>();
  const sweptAt = new Map<string, number>();
  /** When this process last recorded that an upstream answers. */
  const answeredAt = new Map<string, number>();
  const balancer = createBalancer({ readStates: (names) => readStates(database, names), now });

  /** The state of the upstream, as read within the last second; concurrent calls share one read. */
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

  /** Whether a problem is recorded that a response ends, as far as is known. */
  const mayHaveProblem = (state: UpstreamState | undefined): boolean =>
    state === undefined || state.isBroken || state.failures > 0 || state.credentialProblem !== null;

  const quietly = async (upstream: GatedUpstream, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (err) {
      logger.warn({ err, upstream: upstream.name }, 'recording the state of an upstream failed');
    }
  };

  /** Makes changes to the slots and the queue of an upstream, and then admits the next tasks. */
  const changeAll = async (name: string, changes: readonly Change[]): Promise<readonly Admission[]> => {
    const awake = new Set(changes.map(({ taskId }) => taskId));
    const isLeaving = changes.some((change) => change.isLeaving);
    const { admissions, afterwards } = await upstreamDatabase(name, isLeaving).transaction(async (transaction) => {
      if (!(await lockUpstream(transaction, name))) return { admissions: [], afterwards: [] };
      for (const { work } of changes) await work(transaction);
      const admitted = await admitWaiting(transaction, name);
      const committed: ((() => void) | undefined)[] = [];
      for (const one of admitted) if (!awake.has(one.taskId)) committed.push(await wake(transaction, one));
      return { admissions: admitted, afterwards: committed };
    });
    for (const begin of afterwards) begin?.();
    return admissions;
  };

  /**
   * Answers every change; never throws. Those that arrive while the row is locked for others share the next
   * transaction: each alone would wait for its turn longer than it may when many tasks arrive at once.
   */
  const changeTogether = async (name: string, changes: readonly Change[]): Promise<void> => {
    try {
      const admissions = await changeAll(name, changes);
      for (const { resolve } of changes) resolve(admissions);
    } catch (error) {
      // If one of them is at fault, the others must not fail with it.
      const isShared = changes.length > 1 && !(error instanceof DatabaseUnavailableError);
      if (isShared) for (const change of changes) await changeTogether(name, [change]);
      else for (const { reject } of changes) reject(error);
    }
  };
  const changes = createBatches<Change>({
    work: changeTogether,
    fitting: (items) => Math.min(items.length, MAX_TOGETHER),
  });

  /** @returns the admitted tasks, also those of other changes in the same transaction. */
  const change = (
    name: string,
    work: (transaction: Queryable) => Promise<unknown>,
    { isAwake: taskId, isLeaving = false }: { readonly isAwake?: TaskId; readonly isLeaving?: boolean } = {},
  ): Promise<readonly Admission[]> =>
    new Promise((resolve, reject) => {
      changes.add(name, { work, taskId, isLeaving, resolve, reject });
    });

  const sweep = async (transaction: Queryable, name: string): Promise<void> => {
    sweptAt.set(name, now());
    const freed = await sweepSlots(transaction, name);
    if (freed > 0) logger.info({ upstream: name, freed }, 'slots of ended tasks released');
  };

  const takeOrWait = async (
    { name, isCounted = false }: GatedUpstream,
    known: number | undefined,
    task: Admission,
    joins: boolean,
  ): Promise<Entry> => {
    if (known === undefined && !isCounted) return { kind: 'open' };
    const cap = known ?? UNLIMITED;
    const found = await findSlot(database, name, task.taskId, cap);
    // A task that was admitted comes for its slot past all that wait for the row, which is not needed for that.
    if (found === 'own') return { kind: 'open' };
    if (found === 'free' && (await acquireSlot(upstreamDatabase(name), name, task, cap))) return { kind: 'open' };
    let waitedMs = 0;
    if (!joins) return { kind: 'full', waitedMs };
    const join = async (transaction: Queryable): Promise<void> => {
      if (now() - (sweptAt.get(name) ?? -Infinity) >= SWEEP_INTERVAL_MS) await sweep(transaction, name);
      waitedMs = await joinQueue(transaction, name, task, cap);
    };
    const admissions = await change(name, join, { isAwake: task.taskId });
    const isIn = admissions.some(({ taskId }) => taskId === task.taskId);
    return isIn ? { kind: 'open' } : { kind: 'full', waitedMs };
  };

  const releaseAll = (name: string, taskIds: readonly TaskId[]): Promise<readonly Admission[]> => {
    const work = async (transaction: Queryable): Promise<void> => {
      for (const taskId of taskIds) {
        await leaveQueue(transaction, name, taskId);
        await releaseSlot(transaction, name, taskId);
      }
    };
    return change(name, work, { isLeaving: true });
  };
  const releases = createSlotReleases({ releaseAll, logger });

  const release = (upstream: GatedUpstream, taskId: TaskId): Promise<void> =>
    quietly(upstream, async () => {
      const { name, concurrency, isCounted = false } = upstream;
      balancer.left(taskId, name);
      if (concurrency === undefined && !isCounted && !mayHaveSlots(await stateOf(name))) return;
      await releases.release(name, taskId);
    });

  const tidy = (name: string): Promise<readonly Admission[]> =>
    change(name, async (transaction) => {
      await sweep(transaction, name);
      await pruneQueue(transaction, name);
    });

  const enter = async (upstream: GatedUpstream, task: Admission, joins: boolean): Promise<Entry> => {
    await releases.withdraw(upstream.name, task.taskId);
    const state = await stateOf(upstream.name);
    const { pauseReason } = state;
    if (state.isDrained) return { kind: 'closed', waitMs: DRAINED_WAIT_MS, pauseReason: null };
    const waitMs = Math.max(state.pausedMs, Math.min(state.openMs, BROKEN_WAIT_MS));
    if (waitMs > 0) return { kind: 'closed', waitMs, pauseReason };
    const entry = await takeOrWait(upstream, capOf(upstream, state), task, joins);
    if (entry.kind !== 'open' || !state.isBroken) return entry;
    known.delete(upstream.name);
    if (await claimUpstreamProbe(upstreamDatabase(upstream.name), upstream.name)) return { kind: 'open' };
    await release(upstream, task.taskId);
    return { kind: 'closed', waitMs: BROKEN_WAIT_MS, pauseReason: null };
  };

  return {
    release,
    sort: (members, taskId, balance) => balancer.sort(members, taskId, balance),
    positionsOf: (taskId, upstreams) =>
      readPositions(
        database,
        taskId,
        upstreams.map(({ name }) => name),
      ),

    async enter(upstream, task, joins = true) {
      const entry = await enter(upstream, task, joins);
      balancer.entered(task.taskId, upstream.name, entry.kind === 'open');
      return entry;
    },

    async report(upstream, health) {
      const { name } = upstream;
      const state = known.get(name)?.state;
      if (health === 'failed') {
        await quietly(upstream, async () => {
          const isBroken = await countUpstreamFailure(upstreamDatabase(name), name);
          if (isBroken) logger.warn({ upstream: name }, 'upstream circuit opened');
        });
        known.delete(name);
        return;
      }
      const problem = health === 'answered' ? undefined : health.reason;
      const isOld = now() - (answeredAt.get(name) ?? -Infinity) >= ANSWER_INTERVAL_MS;
      if (problem === undefined && (isOld || mayHaveProblem(state))) {
        answeredAt.set(name, now());
        await quietly(upstream, () => forgetUpstreamFailures(upstreamDatabase(name), name));
        if (mayHaveProblem(state)) known.delete(name);
      }
      if (health === 'answered' || (health.pauseMs <= 0 && problem === undefined)) return;
      const { pauseMs } = health;
      if (problem === undefined) logger.info({ upstream: name, pauseMs }, 'upstream paused at its request');
      else if (pauseMs <= 0 && state?.credentialProblem === problem) return;
      await quietly(upstream, async () => {
        const hasChanged =
          problem !== undefined && pauseMs <= 0
            ? await recordCredentialProblem(upstreamDatabase(name), name, problem)
            : await pauseUpstream(upstreamDatabase(name), name, pauseMs, problem);
        if (problem === undefined || !hasChanged) return;
        const fields = { upstream: name, pauseMs, reason: problem };
        logger.error(
          fields,
          pauseMs > 0
            ? 'upstream paused, because its credential cannot be used'
            : 'the credential of an upstream cannot be used',
        );
      });
      known.delete(name);
    },

    async tidyQueues() {
      const names = await listQueuesOf(database).catch((err: unknown) => {
        logger.warn({ err }, 'reading the queues of upstreams failed');
        return [];
      });
      for (const name of names) {
        await quietly({ name }, async () => {
          while ((await tidy(name)).length === MAX_ADMISSIONS);
        });
      }
    },

    stateOf: ({ name }) => stateOf(name),

    async pausedMs({ name }) {
      try {
        return (await stateOf(name)).pausedMs;
      } catch {
        return HEALTHY.pausedMs;
      }
    },
  };
}

/** The cap when the state was read; the cap at the time a slot is taken is checked there (slots.ts). */
function capOf({ concurrency }: GatedUpstream, { isCapPublished, cap }: UpstreamState): number | undefined {
  return isCapPublished ? (cap ?? undefined) : concurrency;
}

/** Whether tasks whose own models have no cap may have a slot there. */
function mayHaveSlots({ cap, jobs }: UpstreamState): boolean {
  return cap !== null || jobs > 0;
}
