/**
 * The checks of an attack campaign, in addition to the invariants of the fault campaign; pure, so that they can be
 * shown to fail.
 */
import { isTerminal } from '../../chaos/records.ts';
import type { ClientLine } from '../../chaos/records.ts';
import type { AttackLine } from './attack-log.ts';

/** The neighbour's 99th percentile under attack may be at most this multiple of the one without. */
export const MOST_TIMES_IDLE = 3;
/** Of fewer requests the 99th percentile is the slowest one, which says nothing. */
const LEAST_SAMPLES = 100;
/** Resident, of one api or worker: its request bodies (256 MB) and caches in addition to the process itself. */
export const PROCESS_MB = 1_000;
/**
 * Resident, of one of their child processes: 512 MB for inspecting, 1 GB for decoding, and Node itself
 * (docs/decisions/0019).
 */
export const CHILD_MB = 1_200;

export interface Phase {
  /** Unix milliseconds. */
  readonly begun: number;
  readonly ended: number;
}

export interface Latency {
  readonly kind: string;
  readonly idle: Percentiles;
  readonly attacked: Percentiles;
}

interface Percentiles {
  readonly count: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

interface Timed extends Phase {
  readonly kind: string;
}

/** From its create to the first response that reported its end. */
function tasksOf(lines: readonly ClientLine[]): readonly Timed[] {
  const ends = new Map(
    // Backwards, so that the first of several reads of an end is the one that stays.
    lines
      .toReversed()
      .flatMap((line) =>
        line.kind === 'read' && line.task !== undefined && isTerminal(line.task.status)
          ? [[line.taskId, line.ended]]
          : [],
      ),
  );
  return lines.flatMap((line) => {
    const ended = line.kind === 'create' && line.taskId !== undefined ? ends.get(line.taskId) : undefined;
    return ended === undefined ? [] : [{ kind: 'task', begun: line.begun, ended }];
  });
}

/** The others are work that takes as long as it takes, whose requests are not lines. */
function isRequest({ kind }: Timed): boolean {
  return kind !== 'task' && kind !== 'batch run' && kind !== 'background run';
}

export function isWithin({ begun }: Pick<Phase, 'begun'>, phase: Phase): boolean {
  return begun >= phase.begun && begun < phase.ended;
}

/** How long what started in a phase took, by kind, and all requests together. */
export function latenciesOf(requests: readonly ClientLine[], idle: Phase, attacked: Phase): readonly Latency[] {
  const lines: readonly Timed[] = [...requests, ...tasksOf(requests)];
  const kinds = ['all', ...new Set(lines.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const of = ({ begun, ended }: Phase): Percentiles =>
      percentilesOf(
        lines
          .filter((line) => (kind === 'all' ? isRequest(line) : line.kind === kind) && isWithin(line, { begun, ended }))
          .map((line) => line.ended - line.begun),
      );
    return { kind, idle: of(idle), attacked: of(attacked) };
  });
}

function percentilesOf(durations: readonly number[]): Percentiles {
  const sorted = durations.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}

export function ratioOf({ idle, attacked }: Latency): number {
  return attacked.p99 / Math.max(1, idle.p99);
}

/** @returns the neighbour's requests that were rejected or never answered, one line each. */
export function validateAnswers(lines: readonly ClientLine[]): readonly string[] {
  return lines.flatMap(({ kind, outcome }) => {
    if (outcome.kind === 'unknown') return [`a ${kind} of the neighbour was not answered: ${outcome.why}`];
    return outcome.status >= 400
      ? [`a ${kind} of the neighbour was answered ${outcome.status} ${outcome.errorCode}`]
      : [];
  });
}

/** @returns the neighbour's requests that waited too long, one line each. */
export function validateLatencies(latencies: readonly Latency[]): readonly string[] {
  return latencies.flatMap((latency) => {
    const { kind, idle, attacked } = latency;
    if (Math.min(idle.count, attacked.count) < LEAST_SAMPLES || ratioOf(latency) <= MOST_TIMES_IDLE) return [];
    const times = ratioOf(latency).toFixed(1);
    return [`the p99 of ${kind} is ${attacked.p99} ms under attack, ${times} times the ${idle.p99} ms without`];
  });
}

/** @returns wrong responses to the attackers, and attacks that had no effect, one line each. */
export function validateAttacks(lines: readonly AttackLine[], attacks: readonly string[]): readonly string[] {
  const wrong = new Map<string, number>();
  for (const { attack, status, errorCode, hasRetryAfter } of lines) {
    // An overloaded server that asks the client to come back later did not serve it, but nothing broke.
    if (status < 500 || (status === 503 && hasRetryAfter)) continue;
    const what = `${attack}: answered ${status} ${errorCode}`;
    wrong.set(what, (wrong.get(what) ?? 0) + 1);
  }
  const idle = attacks.filter((attack) => !lines.some((line) => line.attack === attack && line.status > 0));
  return [
    ...[...wrong].map(([what, count]) => `${what} (${count} times)`),
    ...idle.map((attack) => `${attack}: no answer came to any of them, which shows nothing`),
  ];
}

export interface MemorySample {
  /** Unix milliseconds. */
  readonly at: number;
  readonly part: string;
  /** Resident megabytes. */
  readonly processMb: number;
  readonly largestChildMb: number;
}

export function validateMemory(samples: readonly MemorySample[]): readonly string[] {
  const most = new Map<string, { process: number; child: number }>();
  for (const { part, processMb, largestChildMb } of samples) {
    const { process = 0, child = 0 } = most.get(part) ?? {};
    most.set(part, { process: Math.max(process, processMb), child: Math.max(child, largestChildMb) });
  }
  return [...most].flatMap(([part, { process, child }]) => [
    ...(process > PROCESS_MB ? [`${part} grew to ${Math.round(process)} MB`] : []),
    ...(child > CHILD_MB ? [`a child of ${part} grew to ${Math.round(child)} MB`] : []),
  ]);
}
