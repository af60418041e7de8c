/** One round of one side: a window of each measurement, those without workers first, each from a small state. */
import type { Measure } from './measures.ts';
import type { WindowResult } from './load/window.ts';
import type { Side, Stage } from './stage/stage.ts';

/**
 * A new worker has to connect, and to run its code often enough that it is compiled for speed: it processes tasks for
 * this long before a window counts.
 */
export const WARM_UP_SECONDS = 10;

export interface SideOptions {
  readonly measures: readonly Measure[];
  readonly secondsOf: (measure: Measure) => number;
  readonly record: (measure: Measure, result: WindowResult) => void;
  /** Measures more while the workers of the side run, after all windows. */
  readonly alsoWithWorkers?: () => Promise<void>;
  readonly signal: AbortSignal;
}

export async function measureSide(stage: Stage, side: Side, options: SideOptions): Promise<void> {
  const { measures, alsoWithWorkers } = options;
  for (const measure of measures.filter(({ needsWorkers }) => !needsWorkers)) {
    await stage.reset();
    await measureWindow(stage, side, measure, options);
  }
  const withWorkers = measures.filter(({ needsWorkers }) => needsWorkers);
  if (withWorkers.length === 0 && alsoWithWorkers === undefined) return;
  await stage.reset();
  await stage.withWorkers(side, async () => {
    // These leave nothing open, so that one state serves all of them. The worker is new: it warms up each time.
    await stage.run(side, { operation: 'finish', clients: 8, seconds: WARM_UP_SECONDS });
    for (const measure of withWorkers) await measureWindow(stage, side, measure, options);
    await alsoWithWorkers?.();
  });
}

/** The order changes with each round, so that neither side always follows the other. */
export function sidesOf(round: number): readonly Side[] {
  return round % 2 === 1 ? ['raw', 'ours'] : ['ours', 'raw'];
}

async function measureWindow(
  stage: Stage,
  side: Side,
  measure: Measure,
  { secondsOf, record, signal }: SideOptions,
): Promise<void> {
  signal.throwIfAborted();
  const { operation, clients, beginsPerSecond } = measure;
  const open = beginsPerSecond === undefined ? {} : { beginsPerSecond };
  record(measure, await stage.run(side, { operation, clients, ...open, seconds: secondsOf(measure) }));
}
