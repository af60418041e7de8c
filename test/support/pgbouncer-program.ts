/** PgBouncer for tests. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { obtainDebianProgram, whyNoDebianProgram } from './debian-programs.ts';
import type { DebianProgram } from './debian-programs.ts';

/** Debian 12 and Ubuntu call the libraries so. */
const PGBOUNCER: DebianProgram = {
  name: 'pgbouncer',
  packages: ['pgbouncer', 'libc-ares2', 'libevent-2.1-7'],
  file: 'usr/sbin/pgbouncer',
};

/** Why PgBouncer is not available here; false if it is. */
export function whyNoPgBouncer(): string | false {
  return whyNoDebianProgram(PGBOUNCER);
}

/** @returns the program, which any user may run who can reach it. @throws {Error} it cannot be had here. */
export function obtainPgBouncer(): Promise<string> {
  return obtainDebianProgram(PGBOUNCER);
}

/** Its major and minor version, as one number: 118 is 1.18. */
export async function versionOf(program: string): Promise<number> {
  const { stdout } = await promisify(execFile)(program, ['--version']);
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? [];
  if (major === undefined || minor === undefined) throw new Error(`${program} does not say its version: ${stdout}`);
  return Number(major) * 100 + Number(minor);
}
