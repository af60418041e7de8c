/**
 * The official client of a provider, in a process of its own, which sends its requests to a recorder. The clients are
 * installed once, into the user's cache directory, by the tests that need them.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { packageFile } from '../../src/config/package-root.ts';
import { directoryWith, installLocked } from '../support/npm-environment.ts';

const CLIENTS = packageFile('test/oracle/clients');

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
  const directory = await directoryWith(
    installed,
    ['main.mjs', `${name}.mjs`].map((file) => path.join(CLIENTS, file)),
  );
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
  return installLocked(CLIENTS, { name: 'provider-clients', what: 'the official clients of providers' });
}
