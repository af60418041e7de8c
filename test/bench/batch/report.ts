/** The figures of a run, as a table, and which promises they do not keep. */
import { median } from '../measures.ts';
import type { Span } from './interactive.ts';
import type { Outage } from './kills.ts';
import type { MemoryCourse, MemoryRole } from './resident-memory.ts';

/** How many times as long the client may wait as on the idle system. */
const MOST_SLOWER = 2;
/** The median of the last third over that of the first. */
const MOST_GROWTH = 1.25;
/**
 * How long a kill affects tasks after the process is ready again: what it had claimed or was working on becomes due
 * when a lease of 15 s or a heartbeat of 10 s ends.
 */
const AFTERMATH_MS = 20_000;

/** In milliseconds, from create to success. */
export interface Latency {
  readonly tasks: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** Those that a kill affected are not among them. */
  readonly affected: number;
}

export interface Figures {
  readonly lines: { readonly succeeded: number; readonly failed: number };
  readonly seconds: { readonly validating: number; readonly inProgress: number; readonly finalizing: number };
  readonly outages: readonly Outage[];
  readonly idle: Latency;
  readonly busy: Latency;
  readonly memory: Readonly<Record<MemoryRole, MemoryCourse>>;
}

/** @throws {Error} a kill affected all of them. */
export function latencyOf(spans: readonly Span[], outages: readonly Outage[]): Latency {
  const isAffected = ({ from, to }: Span): boolean =>
    outages.some((outage) => from < outage.to + AFTERMATH_MS && to > outage.from);
  const calm = spans.filter((span) => !isAffected(span)).map(({ from, to }) => to - from);
  if (calm.length === 0) return { tasks: 0, medianMs: Number.NaN, p95Ms: Number.NaN, affected: spans.length };
  const sorted = calm.toSorted((one, two) => one - two);
  const p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
  return { tasks: calm.length, medianMs: median(calm), p95Ms, affected: spans.length - calm.length };
}

export function tableOf({ lines, seconds, outages, idle, busy, memory }: Figures): {
  readonly table: string;
  readonly missed: readonly string[];
} {
  const missed: string[] = [];
  const promise = (what: string, value: number, most: number): string => {
    // Not `value > most`: what could not be measured is not kept.
    const isKept = value <= most;
    if (!isKept) missed.push(`${what}: ${value.toFixed(2)}, promised at most ${most}`);
    return `${value.toFixed(2)} times, promised at most ${most}: ${isKept ? 'ok' : 'MISSED'}`;
  };
  const total = lines.succeeded + lines.failed;
  const perSecond = total / Math.max(1, seconds.inProgress);
  const rows: [string, string][] = [
    ['lines', `${total} with a result: ${lines.succeeded} succeeded, ${lines.failed} failed`],
    ['kills', outages.map(({ part }) => part).join(', ') || 'none'],
    ['validating', `${seconds.validating} s`],
    ['in progress', `${seconds.inProgress} s, ${perSecond.toFixed(1)} lines per second`],
    ['finalizing', `${seconds.finalizing} s`],
    ['client, idle system', describe(idle)],
    ['client, beside the batch', `${describe(busy)}; ${busy.affected} more were affected by kills`],
    ['p95, beside over idle', promise('p95 of the client', busy.p95Ms / idle.p95Ms, MOST_SLOWER)],
  ];
  for (const role of ['api', 'worker'] as const) {
    const { first, last, peak, isComparable } = memory[role];
    const kept = isComparable
      ? promise(`memory of the ${role}`, last / first, MOST_GROWTH)
      : 'a run of less than ten minutes shows no growth';
    const course = `${first.toFixed(0)} MB in the first third, ${last.toFixed(0)} in the last, peak ${peak.toFixed(0)}`;
    rows.push([`memory of the ${role}`, `${course}: ${kept}`]);
  }
  return { table: rows.map(([name, value]) => `${name.padEnd(26)}${value}`).join('\n'), missed };
}

function describe({ tasks, medianMs, p95Ms }: Latency): string {
  return `p50 ${medianMs.toFixed(0)} ms, p95 ${p95Ms.toFixed(0)} ms of ${tasks} tasks`;
}
