/** The ratios that `npm run bench -- cost` reports beside the costs, and the goal of each. */
import { MEASURES } from '../measures.ts';
import type { Comparison, Measure } from '../measures.ts';

/** At two requests per second, a shorter window has too few of them. */
const LEAST_OPEN_LOOP_SECONDS = 10;

const openLoop: Omit<Measure, 'name'> = {
  operation: 'start',
  clients: 1,
  figure: 'medianMs',
  bound: { atMost: 1 },
  ours: 'POST /v1/tasks',
  raw: 'workflow.start',
  needsWorkers: false,
};

/** Beside raw Temporal. */
export const RATIOS: readonly Measure[] = [
  withGoal('accept-latency', { atMost: 0.8 }),
  { ...openLoop, name: 'accept-open-loop-2', beginsPerSecond: 2 },
  { ...openLoop, name: 'accept-open-loop-20', beginsPerSecond: 20 },
  withGoal('finish-latency', { atMost: 1.5 }),
  withGoal('finish-rate', { atLeast: 0.7 }),
  withGoal('read-rate', { atLeast: 5 }),
];

/** Beside a bare pass-through. */
export const TEXT_RATIOS: readonly (Comparison & { readonly isStreamed: boolean })[] = [
  { name: 'text-unstreamed', isStreamed: false, atLeast: 0.4 },
  { name: 'text-streams', isStreamed: true, atLeast: 0.8 },
].map(({ name, isStreamed, atLeast }) => ({
  name,
  isStreamed,
  clients: 32,
  figure: 'perSecond',
  bound: { atLeast },
  ours: 'chat completions',
  raw: 'bare pass-through',
}));

export function secondsOf({ beginsPerSecond }: Measure, seconds: number): number {
  return beginsPerSecond === undefined ? seconds : Math.max(seconds, LEAST_OPEN_LOOP_SECONDS);
}

function withGoal(name: string, bound: Measure['bound']): Measure {
  const found = MEASURES.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`there is no measure ${name}`);
  const { target: _, ...measure } = found;
  return { ...measure, bound };
}
