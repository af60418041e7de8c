/**
 * Loaded into the api before anything else (`--import`): how long its event loop is blocked at most, queried over a
 * port of its own. In addition to the time it counts the processor time that the main thread took meanwhile, which is
 * the same on a quiet machine, and on a busy one does not include what other processes do.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

/** The longest pauses since the last query, in milliseconds. */
export interface Pauses {
  readonly wallMs: number;
  /** Linux counts it in steps of up to four. */
  readonly processorMs: number;
}

const INTERVAL_MS = 2;

/** The processor time that this thread has used. */
function processorMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}

let most: Pauses = { wallMs: 0, processorMs: 0 };
let last = { at: performance.now(), processorMs: processorMs() };

function look(): void {
  const now = { at: performance.now(), processorMs: processorMs() };
  most = {
    wallMs: Math.max(most.wallMs, now.at - last.at - INTERVAL_MS),
    processorMs: Math.max(most.processorMs, now.processorMs - last.processorMs),
  };
  last = now;
}

// Threads of the process load this module too.
if (isMainThread) {
  setInterval(look, INTERVAL_MS).unref();
  // oxlint-disable-next-line node/no-process-env -- the api's own configuration knows nothing of it
  const port = Number(process.env['BENCH_PROBE_PORT']);
  createServer((_request, response) => {
    // A pause that has only just ended has not been recorded yet.
    look();
    response.end(JSON.stringify(most));
    most = { wallMs: 0, processorMs: 0 };
  })
    .listen(port, '127.0.0.1')
    .unref();
}
