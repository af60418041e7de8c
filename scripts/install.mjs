/**
 * Installs the dependencies when they are not the ones that the lock file names.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runChild } from './run-child.mjs';

/** In node_modules, so that it is deleted with them. */
const MARKER = 'node_modules/.installed-lock-hash';

/**
 * Installs what package-lock.json lists; returns at once if it is installed already. `onProcess` is called with npm's
 * process id: no other command may install while that process runs.
 */
export async function install(root, report, onProcess) {
  const lockText = await readFile(path.join(root, 'package-lock.json'), 'utf8');
  const expected = createHash('sha256').update(`${process.platform} ${process.arch} ${lockText}`).digest('hex');
  const marker = path.join(root, MARKER);
  if ((await readFile(marker, 'utf8').catch(() => '')) === expected) return;
  // A manual `npm install` counts as well.
  const lock = JSON.parse(lockText);
  if (!(await isInstalled(root, lock))) {
    const args = installArguments(lock);
    report(`Installing the dependencies (npm ${args.join(' ')}). This takes about a minute, once.`);
    const startedAt = Date.now();
    await runNpm(root, args, { report, onProcess });
    report(`Installed the dependencies in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
  }
  await writeFile(marker, expected);
}

/** Whether npm's own record of what is in node_modules agrees with the lock file. */
async function isInstalled(root, lock) {
  try {
    const installed = JSON.parse(await readFile(path.join(root, 'node_modules/.package-lock.json'), 'utf8'));
    return Object.entries(lock.packages).every(([directory, entry]) => {
      if (directory === '') return true;
      const found = installed.packages[directory];
      return found === undefined ? isOptional(entry) : found.version === entry.version;
    });
  } catch {
    return false;
  }
}

/** npm leaves out packages for other platforms. */
function isOptional(entry) {
  return entry.optional === true || entry.devOptional === true || entry.peer === true;
}

/**
 * `npm ci` rejects a lock file that does not list the optional packages of every platform, and a registry that lags
 * behind with them makes npm write such a file. `npm install` installs the locked versions all the same.
 */
function installArguments(lock) {
  const entries = Object.entries(lock.packages);
  const listed = new Set(entries.map(([directory]) => directory.split('node_modules/').at(-1)));
  const isComplete = entries.every(([, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).every((name) => listed.has(name)),
  );
  return isComplete ? ['ci'] : ['install', '--no-save'];
}

async function runNpm(root, action, { report, onProcess }) {
  // npm passes its own path to the scripts it runs; the one on the PATH may be another.
  const npm = process.env.npm_execpath;
  const [command, ...args] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const code = await runChild(
    command,
    [...args, ...action, '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      title: 'The installation',
      report,
      onProcess,
      cwd: root,
      // The codec library is in its platform's package; its script would download a program that is not used here.
      env: { ...process.env, SKIP_FFMPEG: 'true' },
    },
  ).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
    throw new Error('npm was not found: it comes with Node; put it on the PATH.');
  });
  if (code !== 0) throw new Error('npm failed, for the reason above. Correct it and start again.');
}
