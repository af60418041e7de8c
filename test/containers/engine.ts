/**
 * The container engine: the one that runs on this machine, or one of our own, from the programs in Debian's
 * `docker.io`, with its data in the user's cache directory, so that the second run finds the images of the first.
 * Only an engine that we started is ended. What it left behind when a run was killed, the next one removes.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cacheDirectory } from '../deploy/go-programs.ts';
import { removeLeftovers } from '../support/leftovers.ts';
import { openRunRecords } from '../support/run-records.ts';
import { CannotRunError, run, say, works } from './run.ts';

export interface Engine {
  /** What the names of the bridges of this run begin with. */
  readonly mark: string;
  /** For `docker` and compose. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs `docker`. */
  docker(args: readonly string[], input?: string): Promise<string>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

const RECORDS = openRunRecords('containers');

/**
 * @throws {CannotRunError} another run is in progress, or there is no engine and none can be started; it lists
 *   everything that is missing.
 */
export async function obtainEngine(): Promise<Engine> {
  for (const { pid } of await removeLeftovers(RECORDS)) {
    throw new CannotRunError(`npm run test:containers is running already (process ${pid}): wait for it, or end it.`);
  }
  if (!(await works('docker', ['--version']))) {
    throw new CannotRunError('There is no docker client on the PATH: install one, e.g. Debian’s docker.io.');
  }
  if (await works('docker', ['info', '--format', '{{.ServerVersion}}'])) {
    const version = await run('docker', ['info', '--format', '{{.ServerVersion}}']);
    if (version !== '') {
      say(`A Docker engine runs here already: ${version}.`);
      return { ...client({}), mark: newMark(), stop: () => Promise.resolve() };
    }
  }
  const missing = await whatIsMissing();
  if (missing.length > 0) {
    throw new CannotRunError(`No Docker engine runs here, and none can be started: ${missing.join('; ')}.`);
  }
  return startEngine();
}

async function whatIsMissing(): Promise<string[]> {
  const missing: string[] = [];
  if (process.platform !== 'linux') missing.push('this is not Linux');
  if (process.getuid?.() !== 0) missing.push('dockerd needs root');
  for (const program of ['dockerd', 'containerd', 'runc', 'iptables']) {
    if (!(await works(program, ['--version']))) missing.push(`there is no ${program} (Debian: docker.io, iptables)`);
  }
  return missing;
}

/** Of few characters: the name of a link has 15 at most. */
function newMark(): string {
  return `drc${randomInt(0x10_00, 0x1_00_00).toString(16)}`;
}

async function startEngine(): Promise<Engine> {
  const mark = newMark();
  const data = path.join(cacheDirectory(), 'docker');
  await mkdir(data, { recursive: true });
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-engine-'));
  await RECORDS.add({ mark, directory });
  const address = `unix://${path.join(directory, 'docker.sock')}`;
  const logFile = path.join(directory, 'dockerd.log');
  const log = await open(logFile, 'w');
  const locations = [`--data-root=${data}`, `--exec-root=${directory}/exec`, `--pidfile=${directory}/pid`];
  // A group of its own: a signal that interrupts us must not end it before we have cleaned up.
  const child = spawn('nice', ['dockerd', ...locations, '--host', address], {
    stdio: ['ignore', log.fd, log.fd],
    detached: true,
  });
  const exited = once(child, 'exit');
  await log.close();
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    if (child.exitCode === null && child.signalCode === null) await exited;
    clearTimeout(timer);
    await rm(directory, { recursive: true, force: true });
    await RECORDS.remove(mark);
  };
  const engine = { ...client({ DOCKER_HOST: address }), mark, stop };
  const deadline = Date.now() + START_TIMEOUT_MS;
  // The client succeeds without a server; only the server's version shows that it runs.
  while (!(await works('docker', ['version', '--format', '{{.Server.Version}}'], engine))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      const words = (await readFile(logFile, 'utf8')).slice(-2_000);
      await stop();
      // containerd waits for the lock of its database.
      const reason = words.includes('boltdb open') ? `; another engine, perhaps of another run, uses ${data}` : '';
      throw new CannotRunError(`The Docker engine does not start here${reason}:\n${words}`);
    }
    await delay(300);
  }
  say(`Started a Docker engine: ${await engine.docker(['version', '--format', '{{.Server.Version}}'])}.`);
  return engine;
}

function client(address: Readonly<Record<string, string>>): Pick<Engine, 'environment' | 'docker'> {
  // The classic builder is part of every engine; the other one is a plug-in of the client.
  const environment = { ...address, DOCKER_BUILDKIT: '0' };
  return {
    environment,
    docker: (args, input) => run('docker', args, { environment, ...(input === undefined ? {} : { input }) }),
  };
}
