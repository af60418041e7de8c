/**
 * PostgreSQL does not run as root. This finds the user it runs as instead, and a way for that user to reach the
 * program and its data below directories that only root may enter (a clone in /root). If we are not root there is
 * nothing to do.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StandaloneError } from './standalone-error.ts';
import type { Launch } from './launch.ts';

const run = promisify(execFile);

/** The user that PostgreSQL runs as. */
export interface ServerUser {
  /** The required owner of its files; absent if that is our own user. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** A command prefix that changes the user. Empty: we change it. */
  readonly wrapper: readonly string[];
}

const USER_NAME = 'postgres';
/** Fixed, because nothing in our own environment concerns PostgreSQL. */
const SERVER_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

/**
 * Finds the user for PostgreSQL, creating `postgres` if there is no such user yet.
 *
 * @param program an executable that the user must be able to run; it is tried with `--version`.
 * @param directory a directory that the user must be able to enter.
 * @throws {StandaloneError} there is no such user, or it cannot reach the two.
 */
export async function findServerUser(program: string, directory: string): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return { wrapper: [] };
  const owner = await findOrCreateIds();
  if (await canReach({ owner, wrapper: [] }, program, directory)) return { owner, wrapper: [] };
  // Root can grant only the missing permission, which is to traverse directories. setpriv itself changes the user.
  const wrapper = [
    'setpriv',
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    '--init-groups',
    '--inh-caps=-all,+dac_read_search',
    '--ambient-caps=-all,+dac_read_search',
    '--bounding-set=-all,+dac_read_search',
  ];
  if (await canReach({ owner, wrapper }, program, directory)) return { owner, wrapper };
  throw new StandaloneError(
    `you are root, so PostgreSQL runs as the user "${USER_NAME}", and that user cannot reach ${directory} or ${program}.\n` +
      'Start as an ordinary user, move the project below a folder that everybody may enter (for example /opt), ' +
      'or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

/** The launch of a program as that user. */
export function launchAs(user: ServerUser, program: string, args: readonly string[]): Launch {
  const [command = program, ...rest] = [...user.wrapper, program, ...args];
  const isOurTurn = user.owner !== undefined && user.wrapper.length === 0;
  return { command, args: rest, environment: SERVER_ENVIRONMENT, ...(isOurTurn ? { user: user.owner } : {}) };
}

/** Runs a program as that user until it ends. */
export async function runAs(user: ServerUser, program: string, args: readonly string[]): Promise<void> {
  const launch = launchAs(user, program, args);
  await run(launch.command, [...launch.args], { env: launch.environment, cwd: '/', ...launch.user });
}

async function findOrCreateIds(): Promise<{ uid: number; gid: number }> {
  try {
    return await readIds();
  } catch {
    try {
      await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', USER_NAME]);
      return await readIds();
    } catch (error) {
      throw new StandaloneError(
        `PostgreSQL does not run as root, and the user "${USER_NAME}" for it could not be created.\n` +
          'Start as an ordinary user, create that user, or set DATABASE_URL to a PostgreSQL of your own.',
        { cause: error },
      );
    }
  }
}

async function readIds(): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all([run('id', ['-u', USER_NAME]), run('id', ['-g', USER_NAME])]);
  return { uid: Number.parseInt(uid.stdout, 10), gid: Number.parseInt(gid.stdout, 10) };
}

async function canReach(user: ServerUser, program: string, directory: string): Promise<boolean> {
  try {
    await runAs(user, '/bin/sh', ['-c', 'cd "$1" && "$2" --version', 'sh', directory, program]);
    return true;
  } catch {
    return false;
  }
}
