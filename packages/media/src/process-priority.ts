/**
 * Lets everything else on the machine go first: an engine occupies a processor for seconds, and a response that a
 * client waits for needs it for a millisecond. On a machine that has nothing else to do, a worker is not slower for
 * it.
 */
import os from 'node:os';

/** The priority of child processes: the default of `nice`. */
const PRIORITY = 10;

/** How many steps this thread's priority is above that: the argument of `nice` for a process that it starts. */
export function niceness(): number {
  return Math.max(0, PRIORITY - os.getPriority());
}

/** A process that was just started; all of its own threads are created later. */
export function lowerProcessPriority(processId: number | undefined): void {
  if (processId === undefined) return;
  try {
    os.setPriority(processId, Math.max(PRIORITY, os.getPriority()));
  } catch {
    // It has ended already, or the platform does not allow it: it works at normal priority.
  }
}

/** This thread, and the processes that it starts. On Linux only: elsewhere it would be the whole process. */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux') lowerProcessPriority(0);
}
