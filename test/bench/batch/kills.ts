/** Which process is killed when: drawn from the seed alone, so that a run can be repeated. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@darkroom/testing/random';
import { PARTS } from './installation.ts';
import type { Installation, Part } from './installation.ts';

/** How long a supervisor takes to notice, at most. */
const MOST_DOWN_MS = 3_000;

export interface Kill {
  readonly part: Part;
  /** The share of the lines that have ended by then; 1: when the results are written. */
  readonly at: number;
  readonly downMs: number;
}

/** When a part was away, in milliseconds of `performance.now()`. */
export interface Outage {
  readonly part: Part;
  readonly from: number;
  /** When it was ready again. */
  readonly to: number;
}

/** @returns in order; every part once before any twice, and the last one while the results are written. */
export function planKills(seed: number, count: number): readonly Kill[] {
  const random = createRandom(seed, 'kills');
  const kills: Kill[] = [];
  let order: Part[] = [];
  for (let index = 0; index < count; index++) {
    if (order.length === 0) order = [...random.shuffled(PARTS)];
    const part = order.pop() ?? 'api';
    const isLast = index === count - 1;
    const at = isLast ? 1 : (index + random.next()) / Math.max(1, count - 1);
    // Only the api writes the results.
    kills.push({ part: isLast ? 'api' : part, at, downMs: random.between(0, MOST_DOWN_MS) });
  }
  return kills;
}

/** Ends a part without warning, and starts it again. */
export async function execute({ parts }: Installation, { part, downMs }: Kill): Promise<Outage> {
  const from = performance.now();
  await parts[part].kill();
  await sleep(downMs);
  await parts[part].start();
  return { part, from, to: performance.now() };
}
