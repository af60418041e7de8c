/**
 * Keeps two starts from installing or building at once. The lock is a folder, which is made atomically, that names
 * its holder; a holder that died holds nothing.
 */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 200;

/** Does `work` while nobody else does; `say` is told once if it has to wait. */
export async function withLock(folder, say, work) {
  await mkdir(folder, { recursive: true });
  const lock = path.join(folder, 'prepare.lock');
  let isTold = false;
  while (!(await take(lock))) {
    const holder = await readHolder(lock);
    if (holder === undefined || !isAlive(holder)) {
      await drop(lock);
      continue;
    }
    if (!isTold) say(`Another command (process ${holder}) is installing or building; waiting for it.`);
    isTold = true;
    await delay(POLL_MS);
  }
  try {
    return await work();
  } finally {
    await drop(lock);
  }
}

/** Moved away first: emptied in place it would for a moment look free. */
async function drop(lock) {
  const aside = `${lock}.dropped.${process.pid}`;
  await rename(lock, aside).catch(() => undefined);
  await rm(aside, { recursive: true, force: true });
}

/** Fills a folder and renames it into place: nobody sees a lock without a holder. */
async function take(lock) {
  const draft = `${lock}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft);
  await writeFile(path.join(draft, 'pid'), String(process.pid));
  try {
    // Renaming onto a folder that is not empty fails.
    await rename(draft, lock);
    return true;
  } catch {
    await rm(draft, { recursive: true, force: true });
    return false;
  }
}

async function readHolder(lock) {
  const pid = Number.parseInt(await readFile(path.join(lock, 'pid'), 'utf8').catch(() => ''), 10);
  return Number.isInteger(pid) ? pid : undefined;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
