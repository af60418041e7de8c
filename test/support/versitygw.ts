/**
 * A real S3 server for tests: VersityGW, which serves a directory. Built from source with Go once (80 s on 2 cores)
 * and stored in the user's cache directory; only the wide tests depend on it.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { reservePort } from './reserve-port.ts';
import { waitFor } from '@darkroom/testing/wait-for';

const VERSION = 'v1.8.0';
const MODULE = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;
const BUILD_TIMEOUT_MS = 15 * 60_000;
// Another process may take the free port before the server does: then another one is used.
const START_ATTEMPTS = 3;

export interface S3Server {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The directory whose subdirectories are the buckets. */
  readonly directory: string;
  stop(): Promise<void>;
}

/** Why the server cannot run here, for the `skip` of a test; false if it can. */
export function whyNoS3Server(): string | false {
  if (existsSync(cachedExecutable())) return false;
  const go = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (go.status === 0) return false;
  return `no S3 server to test with: put Go on the PATH, and versitygw ${VERSION} is built from source`;
}

/** Starts a server with one bucket on a loopback port. The caller stops it. */
export async function startS3Server(bucket: string): Promise<S3Server> {
  const executable = await obtainExecutable();
  const directory = await mkdtemp(path.join(os.tmpdir(), 'versitygw-'));
  await mkdir(path.join(directory, bucket));
  const keys = { accessKeyId: 'test', secretAccessKey: randomBytes(20).toString('hex') };
  for (let attempt = 1; ; attempt++) {
    try {
      const { endpoint, child } = await launch(executable, directory, keys);
      const stop = async (): Promise<void> => {
        await stopProcess(child);
        await rm(directory, { recursive: true, force: true });
      };
      return { endpoint, region: 'us-east-1', ...keys, directory, stop };
    } catch (error) {
      if (attempt < START_ATTEMPTS) continue;
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }
}

function cachedExecutable(): string {
  const base = process.env['XDG_CACHE_HOME'];
  const cache = base !== undefined && path.isAbsolute(base) ? base : path.join(os.homedir(), '.cache');
  return path.join(cache, 'darkroom', `versitygw-${VERSION}`, 'versitygw');
}

/** The path of the server’s executable, which is built first if necessary. */
export async function obtainExecutable(): Promise<string> {
  const executable = cachedExecutable();
  if (existsSync(executable)) return executable;
  const directory = path.dirname(executable);
  await mkdir(directory, { recursive: true });
  const building = await mkdtemp(path.join(directory, 'building-'));
  try {
    process.stderr.write(`Building versitygw ${VERSION} with Go, once; this takes a minute or two.\n`);
    const env = { ...process.env, GOBIN: building };
    await promisify(execFile)('go', ['install', MODULE], { env, timeout: BUILD_TIMEOUT_MS });
    // Atomically: another run may be doing the same, and both builds are the same program.
    await rename(path.join(building, 'versitygw'), executable);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return executable;
}

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

async function launch(
  executable: string,
  directory: string,
  keys: Keys,
): Promise<{ endpoint: string; child: ChildProcess }> {
  const port = await reservePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn(
    executable,
    ['--port', `127.0.0.1:${port}`, '--quiet', '--health', '/health', 'posix', directory],
    {
      env: {
        PATH: process.env['PATH'],
        ROOT_ACCESS_KEY_ID: keys.accessKeyId,
        ROOT_SECRET_ACCESS_KEY: keys.secretAccessKey,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4_000);
    });
  }
  try {
    await waitForHealth(`${endpoint}/health`, child);
    return { endpoint, child };
  } catch (error) {
    await stopProcess(child);
    throw new Error(`versitygw did not start:\n${output}`, { cause: error });
  }
}

function waitForHealth(url: string, child: ChildProcess): Promise<void> {
  return waitFor('it gives a sign of life', () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('it ended');
    return fetch(url).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.ok;
      },
      () => false,
    );
  });
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL'); // Its data is deleted with it.
  await exited;
}
