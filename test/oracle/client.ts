/**
 * The official client of a provider, in a process of its own, which sends its requests to a recorder. The clients are
 * installed once, into the user's cache directory, by the tests that need them.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';

const CLIENTS = packageFile('test/oracle/clients');
const INSTALL_TIMEOUT_MS = 10 * 60_000;

/** What a client made of a call: its value, or the error that it threw. */
export type ClientAnswer =
  | { readonly value: unknown; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: ClientError };

export interface ClientError {
  readonly name: string;
  readonly message: string;
  readonly status?: number;
  readonly code?: unknown;
  readonly body?: unknown;
}

export interface OfficialClient {
  /** @param call of the client's file in `clients`. */
  call(call: string, ...parameters: readonly unknown[]): Promise<ClientAnswer>;
  close(): Promise<void>;
}

/** Starts a client for the time of the work. @param name of its file. @param origin that receives its requests. */
export async function withClient(
  name: string,
  origin: string,
  work: (client: OfficialClient) => Promise<void>,
): Promise<void> {
  const client = await startClient(name, origin);
  try {
    await work(client);
  } finally {
    await client.close();
  }
}

async function startClient(name: string, origin: string): Promise<OfficialClient> {
  const installed = await installClients();
  // Below the installed clients, so that its imports find them.
  const directory = await mkdtemp(path.join(installed, 'run-'));
  for (const file of ['main.mjs', `${name}.mjs`]) await copyFile(path.join(CLIENTS, file), path.join(directory, file));
  const child = spawn(process.execPath, [path.join(directory, 'main.mjs'), name, origin], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async call(call, ...parameters) {
      child.stdin.write(`${JSON.stringify({ call, arguments: parameters })}\n`);
      const { value, done } = await lines.next();
      assert.notEqual(done, true, `the client ${name} ended`);
      return JSON.parse(String(value)) as ClientAnswer;
    },
    async close() {
      const ended = new Promise((resolve) => void child.once('exit', resolve));
      child.stdin.end();
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Installs the clients into the user's cache directory, once for each lock.
 *
 * @returns the directory.
 */
export async function installClients(): Promise<string> {
  const lock = await readFile(path.join(CLIENTS, 'package-lock.json'));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const base = process.env['XDG_CACHE_HOME'] ?? '';
  const cache = path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache');
  const directory = path.join(cache, 'darkroom', `provider-clients-${version}`);
  if (existsSync(directory)) return directory;
  await mkdir(path.dirname(directory), { recursive: true });
  const building = await mkdtemp(`${directory}-building-`);
  try {
    process.stderr.write('Installing the official clients of providers, once; this takes a minute or so.\n');
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      await copyFile(path.join(CLIENTS, name), path.join(building, name));
    }
    await promisify(execFile)('npm', ['ci', '--ignore-scripts'], { cwd: building, timeout: INSTALL_TIMEOUT_MS });
    // Atomically: another run may be doing the same.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return directory;
}
