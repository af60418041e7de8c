/**
 * Detects that this process's event loop is blocked, and ends the process so that its supervisor restarts it: a
 * blocked loop answers no request, no probe and no signal, and would stay so forever. The main thread counts; a
 * separate thread (hang-watch-thread.ts) checks whether it still does.
 */
// oxlint-disable-next-line no-restricted-imports -- only used to detect a debugger
import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { packageModule } from '../config/package-root.ts';

/** The exit code of a process whose event loop was blocked; standalone/part.ts translates it. */
export const HUNG_EXIT_CODE = 86;

/** The interval at which the main thread counts and the thread checks. */
const TICK_MS = 500;

/** The data of the thread. */
export interface HangWatchData {
  /** Two 32-bit integers: the counter of the main thread, and 1 while a debugger may pause it. */
  readonly heartbeat: SharedArrayBuffer;
  readonly tickMs: number;
  readonly hangMs: number;
  readonly role: string;
  readonly exitCode: number;
}

/**
 * Watches until the process ends. Neither the timer nor the thread keeps the process alive.
 *
 * Called when the process has started, and not before: a start loads its modules and model files in long steps, which
 * on a busy machine block for longer than any request should, and ending it there would only begin them again.
 *
 * @param role of the process, for the log line.
 * @param hangMs how long the loop may be blocked; 0: no watching.
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
  // Without the modules that the process itself preloads.
  const thread = new Worker(module, { workerData, name: 'hang-watch', execArgv: [] });
  // Without it the process behaves as with HANG_SECONDS=0.
  thread.on('error', () => undefined);
  thread.unref();
}
