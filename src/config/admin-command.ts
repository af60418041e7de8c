/**
 * How operators run `admin` where this process runs, so that the commands in messages work when pasted. It depends on
 * the deployment: a checkout has npm scripts, a container image has only the program.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { EnvironmentReader } from './environment.ts';
import { PACKAGE_ROOT } from './package-root.ts';

/** The data directory of `npm start` if none is named: the only one that a second terminal finds by itself. */
export const DEFAULT_DATA_DIRECTORY = path.join(PACKAGE_ROOT, 'data');

/**
 * Builds the prefix of the group and the command: `npm run admin --`.
 *
 * @param dataDir absolute, of the installation that `npm start` runs; undefined: the installation consists of
 *   services.
 * @param hasScripts whether the package has its npm scripts.
 */
export function adminCommand(
  dataDir: string | undefined,
  hasScripts: boolean = existsSync(path.join(PACKAGE_ROOT, 'scripts')),
): string {
  // As in the runbook, because how a command is run in the container is known only outside it.
  if (!hasScripts) return 'admin';
  const isNamed = dataDir !== undefined && dataDir !== DEFAULT_DATA_DIRECTORY;
  return `npm run admin --${isNamed ? ` --data-dir ${quoted(dataDir)}` : ''}`;
}

/** The same for the installation of an environment. @param environment of one of its processes. */
export function adminCommandOf(environment: NodeJS.ProcessEnv): string {
  const read = new EnvironmentReader(environment);
  return adminCommand(read.boolean('DARKROOM_EMBEDDED') ? read.text('DATA_DIR') || undefined : undefined);
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}
