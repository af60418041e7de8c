/**
 * A PgBouncer in front of a PostgreSQL, configured as docs/operations/scale.md says. It does not run as root either,
 * so it gets the user of PostgreSQL.
 */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { GIVE_UP_MS } from '@darkroom/testing/wait-for';
import { launchProcess } from '../../src/standalone/processes.ts';
import type { Launch } from '../../src/standalone/processes.ts';
import { findServerUser, launchAs } from '../../src/standalone/postgres.ts';
import { obtainPgBouncer, versionOf } from './pgbouncer-program.ts';
import { reservePort } from './reserve-port.ts';

/** The first version that keeps track of prepared statements, and knows the setting. */
const TRACKS_STATEMENTS = 121;
const KEPT_OUTPUT_CHARACTERS = 4_000;

export interface PgBouncer {
  /** The same database through the pooler. @param url of PostgreSQL. */
  through(url: string): string;
  /** Its console: `SHOW POOLS`, `PAUSE` and the like. */
  command<Row>(command: string): Promise<readonly Row[]>;
  /** Ends it: by default without any warning. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it after it was killed, on the same port. */
  start(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  /** The URL of PostgreSQL. */
  readonly server: string;
  /** Where its files are written; the user of PostgreSQL needs access to it. */
  readonly directory: string;
  readonly address: string;
  readonly port: number;
  /** In addition to, or instead of, ours. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** Writes its files. @returns how it is launched. */
export async function preparePgBouncer({
  server,
  directory,
  address,
  port,
  settings = {},
}: PgBouncerOptions): Promise<Launch> {
  const program = await obtainPgBouncer();
  const user = await findServerUser(program, directory);
  const target = new URL(server);
  const own = { listen_addr: address, listen_port: port, ...settings };
  const files = { 'pgbouncer.ini': configurationOf(target, directory, await versionOf(program), own) };
  const secrets = { 'users.txt': `"${target.username}" "${decodeURIComponent(target.password)}"\n` };
  for (const [name, text] of Object.entries({ ...files, ...secrets })) {
    const file = path.join(directory, name);
    await writeFile(file, text, { mode: 0o600 });
    if (user.owner !== undefined) await chown(file, user.owner.uid, user.owner.gid);
  }
  return launchAs(user, program, [path.join(directory, 'pgbouncer.ini')]);
}

/** @param server the URL of PostgreSQL. @param settings in addition to, or instead of, ours. */
export async function startPgBouncer(
  server: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-pgbouncer-'));
  // Under root, PgBouncer runs as another user, who needs access to the directory.
  await chmod(directory, 0o711);
  const port = await reservePort();
  const launch = await preparePgBouncer({ server, directory, address: '127.0.0.1', port, settings });
  const pooler = new RunningPgBouncer(launch, new URL(server), port, directory);
  try {
    await pooler.start();
    return pooler;
  } catch (error) {
    await pooler.stop();
    throw error;
  }
}

function configurationOf(
  { hostname, port, username }: URL,
  directory: string,
  version: number,
  settings: Readonly<Record<string, string | number>>,
): string {
  const all = {
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: path.join(directory, 'users.txt'),
    admin_users: username,
    pool_mode: 'transaction',
    max_client_conn: 2_000,
    // So few that a transaction seldom gets the session of the one before.
    default_pool_size: 10,
    query_wait_timeout: 60,
    server_login_retry: 1,
    server_connect_timeout: 30,
    log_connections: 0,
    log_disconnections: 0,
    ...(version < TRACKS_STATEMENTS ? {} : { max_prepared_statements: 0 }),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  return ['[databases]', `* = host=${hostname} port=${port}`, '[pgbouncer]', ...lines, ''].join('\n');
}

class RunningPgBouncer implements PgBouncer {
  readonly #launch: Launch;
  readonly #target: URL;
  readonly #port: number;
  readonly #directory: string;
  #child: ChildProcess | undefined;

  constructor(launch: Launch, target: URL, port: number, directory: string) {
    this.#launch = launch;
    this.#target = target;
    this.#port = port;
    this.#directory = directory;
  }

  through(url: string): string {
    const pooled = new URL(url);
    pooled.hostname = '127.0.0.1';
    pooled.port = String(this.#port);
    return pooled.href;
  }

  async command<Row>(command: string): Promise<readonly Row[]> {
    const console = new URL(this.through(this.#target.href));
    console.pathname = '/pgbouncer';
    const client = new pg.Client({ connectionString: console.href });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(command)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  async start(): Promise<void> {
    const child = launchProcess(this.#launch);
    this.#child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-KEPT_OUTPUT_CHARACTERS);
      });
    }
    for (const endsAt = Date.now() + GIVE_UP_MS; ; await delay(20)) {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (hasEnded || Date.now() > endsAt) throw new Error(`PgBouncer did not start:\n${output}`);
      const isUp = await this.command('SHOW VERSION').then(
        () => true,
        () => false,
      );
      if (isUp) return;
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
