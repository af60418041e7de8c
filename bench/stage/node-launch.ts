/** How the bench starts its Node processes: our roles from `dist`, as they are deployed, and its own from source. */
import type { Launch } from '../../src/embedded/launch.ts';
import { PACKAGE_ROOT, packageFile } from '../../src/config/package-root.ts';

/** Only what a process needs of our own surroundings. */
function surroundings(): NodeJS.ProcessEnv {
  // oxlint-disable-next-line node/no-process-env -- child processes need PATH and HOME
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

/** @param profileFolder where a CPU profile is written when the process ends. */
export function roleLaunch(
  role: 'api' | 'worker',
  environment: Readonly<Record<string, string>>,
  profileFolder: string | undefined,
): Launch {
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  return {
    command: process.execPath,
    args: [...profiling, packageFile('dist/src/main.js'), role],
    environment: { ...surroundings(), ...environment },
    hasChannel: true,
  };
}

/** A process of bench/load. */
export function loadLaunch(file: string, args: readonly string[]): Launch {
  return {
    command: process.execPath,
    args: ['--import', 'tsx', `${PACKAGE_ROOT}/bench/load/${file}`, ...args],
    environment: surroundings(),
    hasChannel: true,
  };
}

export { surroundings };
