/**
 * Prevents two starts from installing or building at the same time. The lock is a directory, created atomically, that
 * names its holder and the holder's child process; dead processes hold nothing.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startNotices } from './run-child.mjs';

const POLL_MS = 200;

/**
 * Runs `work` under the lock; calls `report` if it has to wait, and again every ten seconds. `work` receives a function
 * that registers a child process: the lock is held for as long as that process runs, even if this one dies.
 */
export async function withLock(directory, report, work) {
  await mkdir(directory, { recursive: true });
  const lock = path.join(directory, 'prepare.lock');
  let endNotices;
  while (!(await take(lock))) {
    const holder = (await readHolders(lock)).find(isAlive);
    if (holder === undefined) {
      await drop(lock);
      continue;
    }
    if (endNotices === undefined) {
      report(`Another command (process ${holder}) is installing or building; waiting for it.`);
      endNotices = startNotices('the other command', report);
    }
    await delay(POLL_MS);
  }
  endNotices?.();
  try {
    return await work((pid) => writeFile(path.join(lock, 'child'), String(pid)));
  } finally {
    await drop(lock);
  }
}

/** Moved away first: emptied where it is, it would look free for a moment. */
async function drop(lock) {
  const aside = `${lock}.dropped.${process.pid}`;
  await rename(lock, aside).catch(() => undefined);
  await rm(aside, { recursive: true, force: true });
}

/** Fills a directory and renames it to the lock's path: no process sees a lock without a holder. */
async function take(lock) {
  const draft = `${lock}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft);
  await writeFile(path.join(draft, 'pid'), String(process.pid));
  try {
    // Renaming to a directory that is not empty fails.
    await rename(draft, lock);
    return true;
  } catch {
    await rm(draft, { recursive: true, force: true });
    return false;
  }
}

async function readHolders(lock) {
  const texts = ['pid', 'child'].map((name) => readFile(path.join(lock, name), 'utf8').catch(() => ''));
  return (await Promise.all(texts)).map((text) => Number.parseInt(text, 10)).filter(Number.isInteger);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
