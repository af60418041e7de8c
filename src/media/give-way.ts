/**
 * Letting everything else on the machine go first: an engine takes a processor for seconds, and an answer that a client
 * waits for needs it for a millisecond. A worker whose machine has nothing else to do is not slower for it.
 */
import os from 'node:os';

/** As far below the usual as `nice` goes by default. */
const PRIORITY = 10;

/** How many steps this thread's priority is above that: what `nice` is to be told for a process that it starts. */
export function stepsToGiveWay(): number {
  return Math.max(0, PRIORITY - os.getPriority());
}

/** A process that was just started; of its own threads all come later. */
export function makeProcessGiveWay(processId: number | undefined): void {
  if (processId === undefined) return;
  try {
    os.setPriority(processId, PRIORITY);
  } catch {
    // It has ended already, or the platform does not let us: it works at the usual priority.
  }
}

/** This thread, and the processes that it starts. On Linux alone: elsewhere it would be the whole process. */
export function makeThreadGiveWay(): void {
  if (process.platform === 'linux') makeProcessGiveWay(0);
}
