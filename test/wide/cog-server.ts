/**
 * Cog's own server with a small model of ours: the same as in every container that Cog builds, from its package. No
 * container is needed for it.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { packageFile } from '../../src/config/package-root.ts';
import { reservePort } from '../support/reserve-port.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import { startServerProcess } from './server-process.ts';

const COG = { name: 'cog', version: '0.23.1' };

/** Why it cannot run here, for the `skip` of a test; false if it can. */
export function whyNoCog(): string | false {
  // Its server is provided as a program for Linux and macOS.
  return process.platform === 'win32' ? 'no server of Cog for Windows' : whyNoPackage(COG);
}

export interface CogServer {
  readonly url: string;
  /** The log of the model: `begins`, `ends` or `stopped`, and the prompt. */
  readRuns(): Promise<readonly { readonly what: string; readonly prompt: string }[]>;
  /** `READY`, or `BUSY` while a prediction has its slot. */
  health(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts it on a free port and waits until it accepts predictions. */
export async function startCogServer(): Promise<CogServer> {
  const python = await obtainPackage(COG);
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-cog-'));
  const runs = path.join(directory, 'runs.log');
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  const health = async (): Promise<string> => {
    const answer = await fetch(`${url}/health-check`).catch(() => undefined);
    return answer === undefined ? 'STARTING' : ((await answer.json()) as { status: string }).status;
  };
  const server = await startServerProcess({
    name: 'the server of Cog',
    command: python,
    args: ['-m', 'cog.server.http', '--host', '127.0.0.1'],
    cwd: packageFile('test/wide/cog-model'),
    env: {
      // It starts its worker as `python`.
      PATH: `${path.dirname(python)}:${process.env['PATH'] ?? ''}`,
      PORT: String(port),
      COG_PREDICT_TYPE_STUB: 'runner.py:Runner',
      RUNS_LOG: runs,
      PYTHONDONTWRITEBYTECODE: '1',
      TMPDIR: directory,
    },
    endSignal: 'SIGINT',
    isReady: async () => (await health()) === 'READY',
  }).catch(async (error: unknown) => {
    await rm(directory, { recursive: true, force: true });
    throw error;
  });
  return {
    url,
    health,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
    async readRuns() {
      const text = await readFile(runs, 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const space = line.indexOf(' ');
          return { what: line.slice(0, space), prompt: line.slice(space + 1) };
        });
    },
  };
}
