/** An installation of a tool's own: `npm start` on a data directory that is deleted afterwards, on free ports. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { packageFile } from '../../src/config/package-root.ts';
import { readInstance } from '../../src/standalone/instance.ts';

export interface Installation {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  stop(): Promise<void>;
}

const KEY = /dk_live_\w+/;

/**
 * @param environment variables in addition to our own.
 * @throws {Error} it does not start; the message contains its output.
 */
export async function startInstallation(
  print: (line: string) => void,
  environment: Readonly<Record<string, string>> = {},
): Promise<Installation> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'darkroom-tool-'));
  // Under root, PostgreSQL runs as another user, who needs access to the directory.
  await chmod(folder, 0o711);
  const dataDir = path.join(folder, 'data');
  print('Starting an installation.');
  const child = spawn(process.execPath, [packageFile('dist/src/main.js'), 'start', '--data-dir', dataDir], {
    // oxlint-disable-next-line node/no-process-env -- the child is to find what we find
    env: { ...process.env, ...environment, PORT: '0', ADMIN_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await closed;
    await rm(folder, { recursive: true, force: true });
  };
  let output = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('Stop:')) resolve();
      });
    }
  });
  await Promise.race([ready, closed]);
  const key = KEY.exec(output)?.[0];
  const instance = await readInstance(dataDir);
  const adminToken = instance?.environment['ADMIN_TOKEN'];
  if (key === undefined || instance === undefined || adminToken === undefined) {
    await stop();
    throw new Error(`the installation did not start:\n${output}`);
  }
  return { url: `${instance.apiUrl}/v1`, key, adminUrl: instance.adminUrl, adminToken, stop };
}
