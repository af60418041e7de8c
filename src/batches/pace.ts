/**
 * How many lines of a batch are in progress at once. Whatever else is created meanwhile waits behind them wherever a
 * queue forms, so a batch keeps those queues short and yields to other work. As in LEDBAT (RFC 6817), the transport for
 * background traffic, the sign of a queue is that things wait longer than they would on an idle system: here the time
 * from the create of a line to the start of its generation.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { taskIdForKey } from '../domain/ids.ts';
import type { Batch } from './batch-record.ts';
import { lineKey } from './line.ts';

/** How many lines a batch begins with. */
const FIRST_LINES = 4;
/** How much longer than on an idle system half of the lines may wait, in milliseconds. */
const QUEUE_TARGET_MS = 50;
/** The same as a share of the time that their generation takes: of long ones, few starts make no queue. */
const QUEUE_TARGET_SHARE = 0.1;
/** Between two changes: as long as their effect takes to show. */
const CHANGE_EVERY_MS = 1_000;
/** By how much the number of lines grows at once where nothing waits, and by how much it shrinks at most. */
const GROWTH = 0.25;
const MOST_SHRINKAGE = 0.5;
/** The wait on an idle system is the shortest one of this period and of the one before: systems change. */
const IDLE_PERIOD_MS = 300_000;
/** Lines that are looked at, counted from the last one that was fed. */
const MOST_SAMPLED = 200;
const LEAST_SAMPLED = 16;
/** A line that has not started for this long counts with its wait so far. */
const UNSTARTED_MS = 100;
/** A batch that ended in another process is forgotten after this long. */
const FORGET_AFTER_MS = 3_600_000;

const selectWait: Statement = {
  name: 'select_wait_of_lines',
  text: `SELECT percentile_cont(0.5) WITHIN GROUP (
                  ORDER BY extract(epoch FROM coalesce(started_at, now()) - created_at)::float8 * 1000) AS "waitMs",
                percentile_cont(0.5) WITHIN GROUP (
                  ORDER BY extract(epoch FROM coalesce(completed_at, now()) - started_at)::float8 * 1000) AS "workMs"
           FROM tasks
          WHERE id = ANY ($1)
            AND (started_at IS NOT NULL
                 OR completed_at IS NULL AND created_at < now() - make_interval(secs => ${UNSTARTED_MS / 1_000}))`,
};

/** Medians of lines, in milliseconds; null: there is nothing that they could be of. */
interface Waits {
  /** From the create to the start. */
  readonly waitMs: number | null;
  /** From the start to the end, or until now. */
  readonly workMs: number | null;
}

/** The pace of one batch. Times are milliseconds of a steady clock. */
export class Pace {
  #lines = FIRST_LINES;
  /** The most lines in progress since the last change. */
  #inProgress = 0;
  #changedAt: number;
  /** Lines before this one were fed at a higher pace. */
  #shrunkAtLine = 0;
  #idle: { readonly since: number; readonly shortest: number; readonly shortestBefore: number } | undefined;

  constructor(now: number) {
    this.#changedAt = now;
  }

  /** How many lines may be in progress; at least 1. */
  get lines(): number {
    return Math.floor(this.#lines);
  }

  /** When it last changed. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** Whether it is time for a change. */
  isDue(now: number): boolean {
    return now - this.#changedAt >= CHANGE_EVERY_MS;
  }

  /** The first of the lines whose wait shows the present pace. */
  firstSampled(linesFed: number): number {
    const sampled = Math.min(MOST_SAMPLED, Math.max(LEAST_SAMPLED, 2 * this.lines));
    return Math.max(0, linesFed - sampled, this.#shrunkAtLine);
  }

  /** Records that so many lines are in progress. */
  use(lines: number): void {
    this.#inProgress = Math.max(this.#inProgress, lines);
  }

  /**
   * @param waits of the sampled lines; where none of them waits for a start, nothing queues.
   * @param most a bound that other rules set.
   */
  adjust({ waitMs, workMs }: Waits, { now, linesFed, most }: { now: number; linesFed: number; most: number }): void {
    const queuedMs = waitMs === null ? 0 : waitMs - this.#idleWait(waitMs, now);
    const targetMs = Math.max(QUEUE_TARGET_MS, QUEUE_TARGET_SHARE * (workMs ?? 0));
    if (queuedMs > targetMs) {
      this.#lines = Math.max(1, this.#lines * Math.max(MOST_SHRINKAGE, targetMs / queuedMs));
      this.#shrunkAtLine = linesFed;
    } else {
      const step = Math.max(1, this.#lines * GROWTH) * (1 - queuedMs / targetMs);
      // A pace that is not used shows nothing about a higher one.
      const bound = Math.max(this.#lines, Math.min(most, 2 * this.#inProgress));
      this.#lines = Math.min(bound, this.#lines + step);
    }
    this.#inProgress = 0;
    this.#changedAt = now;
  }

  #idleWait(waitMs: number, now: number): number {
    const idle = this.#idle;
    if (idle === undefined) this.#idle = { since: now, shortest: waitMs, shortestBefore: waitMs };
    else if (now - idle.since >= IDLE_PERIOD_MS) {
      this.#idle = { since: now, shortest: waitMs, shortestBefore: idle.shortest };
    } else this.#idle = { ...idle, shortest: Math.min(idle.shortest, waitMs) };
    return Math.min(this.#idle?.shortest ?? waitMs, this.#idle?.shortestBefore ?? waitMs);
  }
}

/** The paces of the batches that this process works on. One that another process worked on begins anew. */
export interface Paces {
  of(batchId: string): Pace;
  delete(batchId: string): void;
}

export function createPaces(): Paces {
  const paces = new Map<string, Pace>();
  return {
    of(batchId) {
      const known = paces.get(batchId);
      if (known !== undefined) return known;
      const now = performance.now();
      for (const [id, { changedAt }] of paces) if (now - changedAt > FORGET_AFTER_MS) paces.delete(id);
      const pace = new Pace(now);
      paces.set(batchId, pace);
      return pace;
    },
    delete: (batchId) => paces.delete(batchId),
  };
}

/**
 * Brings the pace of a batch up to date.
 *
 * @param most how many lines may be in progress at all.
 * @returns how many may be in progress.
 */
export async function updatePace(
  pace: Pace,
  { database, installationId }: { readonly database: Queryable; readonly installationId: string },
  { id, accountId, linesFed }: Batch,
  most: number,
): Promise<number> {
  const now = performance.now();
  const first = pace.firstSampled(linesFed);
  if (pace.isDue(now) && first < linesFed) {
    const ids = Array.from({ length: linesFed - first }, (_, offset) =>
      taskIdForKey(installationId, accountId, lineKey(id, first + offset)),
    );
    const [waits = { waitMs: null, workMs: null }] = await database.query<Waits>(selectWait, [ids]);
    pace.adjust(waits, { now, linesFed, most });
  }
  return Math.min(pace.lines, most);
}
