/** A real S3 server on a host. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { obtainExecutable } from '../support/versitygw.ts';
import { untilSuccess } from './service.ts';
import type { Service } from './service.ts';

const PORT = 9000;
const BUCKET = 'hosts';

export interface S3Service extends Service {
  /** Of the processes that use it. */
  readonly environment: Readonly<Record<string, string>>;
}

export async function provideS3(address: string, directory: string): Promise<S3Service> {
  await mkdir(path.join(directory, BUCKET), { recursive: true });
  const [id, secret] = ['hosts', randomBytes(20).toString('hex')];
  const endpoint = `http://${address}:${PORT}`;
  const command = await obtainExecutable();
  return {
    launch: () => ({
      command,
      args: ['--port', `${address}:${PORT}`, '--quiet', '--health', '/health', 'posix', directory],
      environment: { PATH: process.env['PATH'], ROOT_ACCESS_KEY_ID: id, ROOT_SECRET_ACCESS_KEY: secret },
    }),
    ready: (signal) => untilSuccess(() => requestHealth(`${endpoint}/health`, signal), signal),
    environment: {
      STORE_URL: `s3://${BUCKET}/objects`,
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY_ID: id,
      S3_SECRET_ACCESS_KEY: secret,
    },
  };
}

async function requestHealth(url: string, signal: AbortSignal): Promise<void> {
  const answer = await fetch(url, { signal });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
}
