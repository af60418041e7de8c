/**
 * In which order a task tries equal upstreams, the members of a pool. What is known of them is read a few times a second
 * by a process that uses them; what this process has done since then is added, so that tasks that come at once do not
 * all go to the same member. Whether a member can take the task is decided at its gate (gate.ts).
 */
import { LRUCache } from 'lru-cache';
import type { Balance } from '../catalogue/definition.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { HEALTHY } from './states.ts';
import type { UpstreamState } from './states.ts';

/** A member of a pool as it is balanced. */
export interface PoolMember {
  readonly name: string;
  /** According to the task's definition, if no API process has published the cap in force. */
  readonly concurrency?: number | undefined;
  /** Its share, above 0. */
  readonly weight: number;
}

/** The members in the order in which to try them. */
export interface Sorted<Member> {
  /** First those that can take a task, as far as is known, then those that are paused, failing or drained. */
  readonly candidates: readonly Member[];
  /** At their concurrency limit. */
  readonly full: readonly Member[];
}

export interface Balancer {
  /** @throws {DatabaseUnavailableError} nothing is known: try again. */
  sort<Member extends PoolMember>(
    members: readonly Member[],
    taskId: TaskId,
    balance: Balance,
  ): Promise<Sorted<Member>>;
  /** A sorted task was admitted by an upstream, or not. */
  entered(taskId: TaskId, name: string, isOpen: boolean): void;
  /** A task has left an upstream. */
  left(taskId: TaskId, name: string): void;
}

/** For how long what was read is used, in milliseconds. */
const FRESH_MS = 250;
/** After this long, in milliseconds, what was read includes a task, or the task never arrived. */
const PICK_LASTS_MS = 10_000;
/** The maximum number of pools that are remembered. */
const MAX_POOLS = 1_000;

/** Where this process has sent a task. */
interface Pick {
  readonly name: string;
  readonly since: number;
  /** Undefined: it is on its way. */
  readonly enteredAt: number | undefined;
}

interface Reading {
  readonly startedAt: number;
  readonly states: ReadonlyMap<string, UpstreamState>;
}

export function createBalancer({
  readStates,
  now,
  random = Math.random,
}: {
  readonly readStates: (names: readonly string[]) => Promise<ReadonlyMap<string, UpstreamState>>;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
  readonly random?: () => number;
}): Balancer {
  const readings = new LRUCache<string, Reading | Promise<Reading>>({ max: MAX_POOLS });
  /** What each member of a weighted pool is owed. */
  const owed = new LRUCache<string, Map<string, number>>({ max: MAX_POOLS });
  const picks = new Map<TaskId, Pick>();

  const read = async (key: string, names: readonly string[]): Promise<Reading> => {
    const known = readings.get(key);
    if (known instanceof Promise) return known;
    const startedAt = now();
    if (known !== undefined && startedAt - known.startedAt < FRESH_MS) return known;
    for (const [taskId, { since }] of picks) if (startedAt - since > PICK_LASTS_MS) picks.delete(taskId);
    const reading = readStates(names).then((states) => ({ startedAt, states }));
    readings.set(key, reading);
    try {
      const result = await reading;
      readings.set(key, result);
      return result;
    } catch (error) {
      readings.delete(key);
      throw error;
    }
  };

  /** Smooth weighted round robin: each is owed its weight a turn, and the one that is owed most pays for the turn. */
  const byWeight = <Member extends PoolMember>(key: string, members: readonly Member[]): readonly Member[] => {
    const debts = owed.get(key) ?? new Map<string, number>();
    owed.set(key, debts);
    // Processes begin at different points of the turn.
    for (const { name, weight } of members) debts.set(name, (debts.get(name) ?? random() * weight) + weight);
    const order = members.toSorted((a, b) => (debts.get(b.name) ?? 0) - (debts.get(a.name) ?? 0));
    const [first] = order;
    const total = members.reduce((sum, { weight }) => sum + weight, 0);
    if (first !== undefined) debts.set(first.name, (debts.get(first.name) ?? 0) - total);
    return order;
  };

  return {
    async sort(members, taskId, balance) {
      const names = members.map(({ name }) => name);
      const key = names.join(' ');
      const { startedAt, states } = await read(key, names);
      const own = new Map<string, number>();
      for (const { name, enteredAt = Infinity } of picks.values()) {
        if (enteredAt >= startedAt) own.set(name, (own.get(name) ?? 0) + 1);
      }
      const stateOf = (name: string): UpstreamState => states.get(name) ?? HEALTHY;
      const jobsAt = (name: string): number => stateOf(name).jobs + (own.get(name) ?? 0);
      const isClosed = ({ name }: PoolMember): boolean => {
        const { isDrained, pausedMs, openMs } = stateOf(name);
        return isDrained || pausedMs > 0 || openMs > 0;
      };
      const isFull = ({ name, concurrency }: PoolMember): boolean => {
        const { isCapPublished, cap } = stateOf(name);
        return jobsAt(name) >= ((isCapPublished ? cap : concurrency) ?? Infinity);
      };

      const closed = members.filter(isClosed);
      const full = members.filter((member) => !isClosed(member) && isFull(member));
      const free = members.filter((member) => !isClosed(member) && !isFull(member));
      const sorted =
        balance === 'ordered' ? free : balance === 'weighted' ? byWeight(key, free) : byJobs(free, jobsAt, random);
      const [first] = sorted;
      if (first !== undefined) picks.set(taskId, { name: first.name, since: now(), enteredAt: undefined });
      return { candidates: [...sorted, ...closed], full };
    },

    entered(taskId, name, isOpen) {
      const pick = picks.get(taskId);
      if (pick === undefined) return;
      if (isOpen) picks.set(taskId, { ...pick, name, enteredAt: now() });
      else if (pick.name === name) picks.delete(taskId);
    },

    left(taskId, name) {
      if (picks.get(taskId)?.name === name) picks.delete(taskId);
    },
  };
}

/** The fewest jobs for its weight first, equals in any order. */
function byJobs<Member extends PoolMember>(
  members: readonly Member[],
  jobsAt: (name: string) => number,
  random: () => number,
): readonly Member[] {
  return members
    .map((member) => ({ member, load: (jobsAt(member.name) + 1) / member.weight, lot: random() }))
    .toSorted((a, b) => a.load - b.load || a.lot - b.lot)
    .map(({ member }) => member);
}
