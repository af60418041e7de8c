/**
 * The thread that ends its process if the event loop of the main thread is blocked (hang-watch.ts). It counts its own
 * ticks instead of measuring time: while a process is stopped or the machine is suspended there are no ticks, so that
 * such a process is not considered hung. This code must not depend on the main thread, so it writes the log line
 * directly to the file descriptor.
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
/** How long the main thread may take to report its stack, and then to exit, in milliseconds. */
const GRACE_MS = 2_000;
/**
 * The longest wait for the log line to be written before the exit, in milliseconds: the reader of the log may be stuck.
 */
const WRITE_MS = 1_000;
/**
 * If a tick is late by more than this many intervals, this thread was blocked too, and nothing is known about the main
 * thread.
 */
const LATE_TICKS = 4;

/** The URLs of the main thread's scripts, by script id. */
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

/** Requests the stack of the main thread, logs it and makes the process exit, or kills it if it does not exit. */
function endProcess(): void {
  const session = new Session();
  const end = (stack: string): void => {
    // The main thread exits with the exit code; if it cannot do that either, the process is killed.
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
