/**
 * The thread that ends a process whose event loop stands still (hang-watch.ts). It counts its own turns and no time: a
 * process that was stopped, or a machine that slept, has no turns meanwhile, and is not taken for a hung one. Nothing here
 * may need the main thread: the log line is written to the descriptor itself.
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
/** How long the main thread has to say where it is, and then to end itself. */
const LAST_WORDS_MS = 2_000;
/** Between what is written and the end: whoever should read it may not. */
const WRITE_MS = 1_000;
/** A turn that comes this much too late: this thread stood still as well, and nothing is known of the other. */
const LATE_TURNS = 4;

/** Of the main thread's scripts, by their ids. */
const urls = new Map<string, string>();

let seen = Atomics.load(count, 0);
let turnAt = performance.now();
let stillTurns = 0;

const timer = setInterval(() => {
  const now = performance.now();
  const isLate = now - turnAt > LATE_TURNS * tickMs;
  turnAt = now;
  const counted = Atomics.load(count, 0);
  const mayBeDebugged = Atomics.load(count, 1) === 1;
  stillTurns = counted === seen && !isLate && !mayBeDebugged ? stillTurns + 1 : 0;
  seen = counted;
  if (stillTurns * tickMs < hangMs) return;
  clearInterval(timer);
  endProcess();
}, tickMs);

/** Asks the main thread where it stands, says so and has it end, or is the end of it. */
function endProcess(): void {
  const session = new Session();
  const end = (stack: string): void => {
    // The exit code is the main thread's to give; one that does not even do that is killed.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), WRITE_MS + LAST_WORDS_MS);
    const exit = (): void => session.post('Runtime.evaluate', { expression: `process.reallyExit(${exitCode})` });
    const giveUpWriting = setTimeout(exit, WRITE_MS);
    log(stack, () => {
      clearTimeout(giveUpWriting);
      exit();
    });
  };
  const giveUp = setTimeout(() => end('not known: the main thread is not in JavaScript'), LAST_WORDS_MS);
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

/** As the program's logger writes a fatal line. */
function log(stack: string, done: () => void): void {
  const line = {
    level: 60,
    time: new Date().toISOString(),
    role,
    pid: process.pid,
    hangSeconds: hangMs / 1000,
    stack,
    msg: 'the event loop stood still; the process ends, to be started again',
  };
  // Not at once: a pipe that nobody reads would hold this thread as well. That it fails is no reason to stay.
  write(STANDARD_OUTPUT, `${JSON.stringify(line)}\n`, done);
}
