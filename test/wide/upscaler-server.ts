/** The server of docs/examples/upscaler with its packages, as it runs by the guide. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { packageFile } from '../../src/config/package-root.ts';
import { directoryWith, installLocked } from '../support/npm-environment.ts';
import { reservePort } from '../support/reserve-port.ts';
import { answers, startServerProcess } from './server-process.ts';

const EXAMPLE = packageFile('docs/examples/upscaler');

export interface UpscalerServer {
  readonly url: string;
  /** `busy` while it works, and how many images it has enlarged. */
  health(): Promise<{ readonly status: string; readonly enlarged: number }>;
  stop(): Promise<void>;
}

/** Starts it on a free port and waits until it has loaded its models. */
export async function startUpscaler(): Promise<UpscalerServer> {
  const installed = await installLocked(EXAMPLE, { name: 'upscaler', what: 'the upscaler' });
  const files = ['server.mjs', 'upscale.mjs'].map((file) => path.join(EXAMPLE, file));
  const directory = await directoryWith(installed, files);
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServerProcess({
    name: 'the upscaler',
    command: process.execPath,
    args: [path.join(directory, 'server.mjs'), '--port', String(port)],
    env: { PATH: process.env['PATH'] },
    isReady: () => answers(`${url}/health`),
  }).catch(async (error: unknown) => {
    await rm(directory, { recursive: true, force: true });
    throw error;
  });
  return {
    url,
    async health() {
      const response = await fetch(`${url}/health`);
      return (await response.json()) as { status: string; enlarged: number };
    },
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
