/**
 * What a command uses: the client, the terminal, and the options that all commands have.
 */
import { access, constants, mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import { createApiClient } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { UsageError } from './errors.ts';
import { createPatientClient } from './patience.ts';
import { readSettings } from './settings.ts';
import type { Terminal } from './terminal.ts';
import type { World } from './world.ts';

export interface Session {
  readonly api: ApiClient;
  readonly terminal: Terminal;
  readonly world: World;
  /** Fires at Ctrl-C, and when the reader of the results is gone. */
  readonly signal: AbortSignal;
  readonly isJson: boolean;
}

/** Opens the session of a command; each command does so after its arguments were validated. */
export type OpenSession = () => Promise<Session>;

/** @throws {UsageError} the configuration is missing or wrong. */
export async function openSession(world: World, terminal: Terminal, isJson: boolean): Promise<Session> {
  const settings = await readSettings(world);
  const client = createApiClient(settings);
  const api = createPatientClient(client, { signal: world.interrupt, say: terminal.say });
  return { api, terminal, world, signal: AbortSignal.any([world.interrupt, terminal.outputGone]), isJson };
}

/** Creates the directory for the results before anything is paid for. @throws {UsageError} it is not writable. */
export async function prepareFolder(folder: string): Promise<string> {
  const absolute = path.resolve(folder);
  try {
    await makeFolder(absolute);
    await access(absolute, constants.W_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new UsageError(`nothing can be saved in ${folder}: ${code}`, { cause: error });
  }
  return absolute;
}

/**
 * Creates a directory and its missing parents. Node's recursive `mkdir` never returns on a file system that creates no
 * directories (/proc).
 */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    if (code !== 'ENOENT' || (await exists(path.dirname(folder)))) throw error;
    await makeFolder(path.dirname(folder));
    await mkdir(folder);
  }
}

async function exists(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  );
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
