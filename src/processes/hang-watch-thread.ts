/**
 * The thread that ends a process whose event loop is blocked (hang-watch.ts). It counts its own ticks instead of
 * measuring time: a process that was stopped, or a machine that was suspended, has no ticks meanwhile, and is not
 * considered hung. Nothing here may need the main thread: the log line is written directly to the file descriptor.
 */
import { write } from 'node:fs';
// oxlint-disable-next-line no-restricted-imports -- of this very process, from within: no port is opened
import { Session } from 'node:inspector';
import type { Debugger } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import type { HangWatchData } from './hang-watch.ts';

const { heartbeat, tickMs, hangMs, role, exitCode } = workerData as HangWatchData;
const count = new Int32Array(heartbeat);
const STANDARD_OUTPUT = 1;
/** How long the main thread has to report its position, and then to exit. */
const GRACE_MS = 2_000;
/** Between the log line and the exit: the reader of the log may be stuck. */
const WRITE_MS = 1_000;
/** A tick that is this late: this thread was blocked as well, and nothing is known about the other. */
const LATE_TICKS = 4;

/** URLs of the main thread's scripts, by their ids. */
const urls = new Map<string, string>();

let lastCount = Atomics.load(count, 0);
let lastTickAt = performance.now();
let missedTicks = 0;

const timer = setInterval(() => {
  const now = performance.now();
  const isLate = now - lastTickAt > LATE_TICKS * tickMs;
  lastTickAt = now;
  const counted = Atomics.load(count, 0);
  const mayBeDebugged = Atomics.load(count, 1) === 1;
  missedTicks = counted === lastCount && !isLate && !mayBeDebugged ? missedTicks + 1 : 0;
  lastCount = counted;
  if (missedTicks * tickMs < hangMs) return;
  clearInterval(timer);
  endProcess();
}, tickMs);

/** Requests the position of the main thread, logs it and makes the thread exit, or kills the process. */
function endProcess(): void {
  const session = new Session();
  const end = (stack: string): void => {
    // The main thread sets the exit code; if it cannot do even that, the process is killed.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), WRITE_MS + GRACE_MS);
    const exit = (): void => session.post('Runtime.evaluate', { expression: `process.reallyExit(${exitCode})` });
    const giveUpWriting = setTimeout(exit, WRITE_MS);
    log(stack, () => {
      clearTimeout(giveUpWriting);
      exit();
    });
  };
  const giveUp = setTimeout(() => end('unknown: the main thread is not in JavaScript'), GRACE_MS);
  session.once('Debugger.paused', ({ params }) => {
    clearTimeout(giveUp);
    end(params.callFrames.map(describeFrame).join('\n'));
  });
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
  session.connectToMainThread();
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

function describeFrame({ functionName, location }: Debugger.CallFrame): string {
  const name = functionName === '' ? '<anonymous>' : functionName;
  return `    at ${name} (${urls.get(location.scriptId) ?? 'unknown'}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1})`;
}

/** Same format as a fatal line of the program's logger. */
function log(stack: string, done: () => void): void {
  const line = {
    level: 60,
    time: new Date().toISOString(),
    role,
    pid: process.pid,
    hangSeconds: hangMs / 1000,
    stack,
    msg: 'the event loop was blocked; ending the process for a restart',
  };
  // Asynchronous: a pipe that is not read would block this thread as well. A failed write does not prevent the exit.
  write(STANDARD_OUTPUT, `${JSON.stringify(line)}\n`, done);
}
