/**
 * One step of an installation or build as a child process: the terminal shows every ten seconds that it still runs,
 * and what ends this process ends the step too.
 */
import { spawn } from 'node:child_process';

const NOTICE_MS = 10_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs the child to its end.
 *
 * @param options.title of the step, as at the beginning of a sentence: `The installation`.
 * @param options.onProcess is called with its process id, and awaited.
 * @returns its exit code, or the signal that ended it.
 * @throws {Error} the child could not be started; or we were interrupted, and it has ended.
 */
export async function runChild(command, args, { title, report, onProcess, noticeMs = NOTICE_MS, ...options }) {
  // What it prints must not mix with the output of the command that follows.
  const child = spawn(command, args, { ...options, stdio: ['ignore', process.stderr, process.stderr] });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ?? code));
  });
  // It may fail while `onProcess` is awaited.
  ended.catch(() => undefined);
  // Forwarded: it would otherwise keep running, beside that of the next start.
  let isStopped = false;
  const stop = (signal) => {
    isStopped = true;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  const endNotices = startNotices(title.replace(/^The /, 'the '), report, noticeMs);
  try {
    if (child.pid !== undefined) await onProcess?.(child.pid);
    const end = await ended;
    if (isStopped) throw new Error(`${title} was interrupted; the next start begins it again.`);
    return end;
  } finally {
    endNotices();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** Reports at every interval that `what` is waited for, and how long. @returns ends that. */
export function startNotices(what, report, noticeMs = NOTICE_MS) {
  const since = performance.now();
  const notice = () => report(`Waiting for ${what} (${Math.round((performance.now() - since) / 1000)} s).`);
  const timer = setInterval(notice, noticeMs);
  return () => clearInterval(timer);
}
