/**
 * Notices that this process's event loop stands still, and ends the process so that whoever supervises it starts it
 * again: a loop that never comes round answers no request, no probe and no signal, and would stay like that for ever. The
 * main thread counts; a thread of its own (hang-watch-thread.ts) looks whether it still does.
 */
// oxlint-disable-next-line no-restricted-imports -- only asked whether somebody debugs this process
import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { packageModule } from '../config/package-root.ts';

/** What a process ends with whose event loop stood still; standalone/part.ts says it in words. */
export const HUNG_EXIT_CODE = 86;

/** How often the main thread counts and the thread looks. */
const TICK_MS = 500;

/** What the thread is given. */
export interface HangWatchData {
  /** Two 32-bit integers: what the main thread counts up, and 1 while a debugger may stop it. */
  readonly heartbeat: SharedArrayBuffer;
  readonly tickMs: number;
  readonly hangMs: number;
  readonly role: string;
  readonly exitCode: number;
}

/**
 * Watches until the process ends. Neither part keeps the process alive.
 *
 * @param role who the log line is of.
 * @param hangMs how long the loop may stand still; 0: nothing is watched.
 */
export function watchForHang(role: string, hangMs: number): void {
  if (hangMs === 0) return;
  const heartbeat = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const count = new Int32Array(heartbeat);
  setInterval(() => {
    Atomics.add(count, 0, 1);
    Atomics.store(count, 1, debuggerUrl() === undefined ? 0 : 1);
  }, TICK_MS).unref();
  const workerData: HangWatchData = { heartbeat, tickMs: TICK_MS, hangMs, role, exitCode: HUNG_EXIT_CODE };
  const module = packageModule('src/processes/hang-watch-thread.ts');
  // Without what the process itself was told to load first.
  const thread = new Worker(module, { workerData, name: 'hang-watch', execArgv: [] });
  // Without it the process is what it would be with HANG_SECONDS=0.
  thread.on('error', () => undefined);
  thread.unref();
}
