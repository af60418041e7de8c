/**
 * What a command uses: the client, the terminal, and the options that all commands have.
 */
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import { createApiClient } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { createDirectory } from './create-directory.ts';
import { errorCodeOf } from './error-code.ts';
import { UsageError } from './errors.ts';
import { createRetryingClient } from './retrying-client.ts';
import { readSettings } from './settings.ts';
import type { Terminal } from './terminal.ts';
import type { CliEnvironment } from './cli-environment.ts';

export interface Session {
  readonly api: ApiClient;
  readonly terminal: Terminal;
  readonly cli: CliEnvironment;
  /** Fires at Ctrl-C, and when the reader of the results has closed the pipe. */
  readonly signal: AbortSignal;
  readonly isJson: boolean;
}

/** Opens the session of a command; each command does so after its arguments were validated. */
export type OpenSession = () => Promise<Session>;

/** @throws {UsageError} the configuration is missing or wrong. */
export async function openSession(cli: CliEnvironment, terminal: Terminal, isJson: boolean): Promise<Session> {
  const settings = await readSettings(cli);
  const client = createApiClient(settings);
  const api = createRetryingClient(client, { signal: cli.interrupt, say: terminal.say });
  return { api, terminal, cli, signal: AbortSignal.any([cli.interrupt, terminal.outputGone]), isJson };
}

/** Creates the directory for the results before anything is paid for. @throws {UsageError} it is not writable. */
export async function prepareDirectory(directory: string): Promise<string> {
  const absolute = path.resolve(directory);
  try {
    await createDirectory(absolute);
    await access(absolute, constants.W_OK);
  } catch (error) {
    const code = errorCodeOf(error) ?? String(error);
    throw new UsageError(`outputs cannot be saved in ${directory}: ${code}`, { cause: error });
  }
  return absolute;
}

/** An option that may be given several times. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** An option that is an integer of at least 1. */
export function count(value: string): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) === 0) throw new InvalidArgumentError('Write a whole number from 1.');
  return Number(value);
}

/** `key=value` pairs as an object. @throws {UsageError} */
export function pairs(option: string, texts: readonly string[]): Record<string, string> {
  const object = Object.create(null) as Record<string, string>;
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`${option} ${JSON.stringify(text)}: write key=value`);
    object[text.slice(0, at)] = text.slice(at + 1);
  }
  return object;
}
