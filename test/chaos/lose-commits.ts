/**
 * A database that comes back without its last commits, which it had confirmed: as after a failover to a standby that
 * lagged behind (docs/decisions/0005). For a while commits are confirmed before they are on disk, then every process
 * of PostgreSQL is killed at once, and with them goes the log that was only in memory. What remains is an earlier
 * state.
 */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findClusterPid } from '../../src/standalone/postgres.ts';
import type { World } from './world/world.ts';

/** The log is written to disk after this time: the maximum of PostgreSQL's `wal_writer_delay`. */
const LOG_STAYS_MS = 10_000;
/** Commits are lost for at most this long, so that all of them are. */
const MOST_MS = LOG_STAYS_MS - 1_500;
const SETTINGS = {
  synchronous_commit: 'off',
  wal_writer_delay: `${LOG_STAYS_MS}ms`,
  // More than is ever written in that time.
  wal_writer_flush_after: '1GB',
};

export interface LostCommits {
  readonly from: number;
  readonly until: number;
  /** Tasks that are gone, and those that had ended and are open again. */
  readonly gone: number;
  readonly reopened: number;
}

interface TaskState {
  readonly id: string;
  readonly status: string;
}

/** Ends and starts PostgreSQL; the caller makes sure that nothing else does so meanwhile. */
export async function loseCommits(world: World, forMs: number): Promise<LostCommits> {
  const postgres = world.part('postgres');
  const from = Date.now();
  await change(world, [
    ...Object.entries(SETTINGS).map(([name, value]) => `ALTER SYSTEM SET ${name} = '${value}'`),
    'SELECT pg_reload_conf()',
  ]);
  let before: readonly TaskState[] = [];
  try {
    await sleep(Math.min(forMs, MOST_MS));
    before = await readTasks(world);
    const pid = await findClusterPid(world.cluster.directory);
    const children = pid === undefined ? [] : await childrenOf(pid);
    await postgres.kill();
    // Each is a session of its own, and would answer the statement that it is executing.
    for (const child of children) kill(child);
  } finally {
    await forgetSettings(world.cluster.directory);
  }
  const until = Date.now();
  await postgres.start();
  const after = new Map((await readTasks(world)).map(({ id, status }) => [id, status]));
  const gone = before.filter(({ id }) => !after.has(id)).length;
  const reopened = before.filter(
    ({ id, status }) => isOver(status) && after.has(id) && !isOver(after.get(id) ?? ''),
  ).length;
  return { from, until, gone, reopened };
}

function isOver(status: string): boolean {
  return status === 'success' || status === 'fail';
}

/** @returns the processes that a process has started. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    if (Number(/\) \S (\d+) /.exec(stat)?.[1]) === pid) found.push(Number(name));
  }
  return found;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended with its parent.
  }
}

/** Before the start, so that no commit is confirmed too early any more. */
async function forgetSettings(directory: string): Promise<void> {
  const file = path.join(directory, 'postgresql.auto.conf');
  const lines = (await readFile(file, 'utf8')).split('\n');
  await writeFile(
    file,
    lines.filter((line) => !Object.keys(SETTINGS).some((name) => line.startsWith(name))).join('\n'),
  );
}

async function change({ testDatabase }: World, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: testDatabase.url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function readTasks({ testDatabase }: World): Promise<readonly TaskState[]> {
  const client = new pg.Client({ connectionString: testDatabase.url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<TaskState>('SELECT id, status FROM tasks')).rows;
  } finally {
    await client.end();
  }
}
