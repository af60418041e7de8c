/**
 * What a running installation publishes for the other commands of the same machine: `instance.json` in its data
 * directory. It contains the database's password, so only its owner can read it.
 */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { writeFileAtomically } from './data-directory.ts';
import { isSameProcess, readProcess } from './processes.ts';

export interface Instance {
  /** The process id of the supervisor. */
  readonly pid: number;
  /** Absolute addresses, without a trailing slash. */
  readonly apiUrl: string;
  readonly adminUrl: string;
  /** Absent if Temporal runs elsewhere. */
  readonly temporalUiUrl?: string;
  readonly temporalAddress: string;
  readonly databaseUrl: string;
  readonly storeUrl: string;
  readonly dataDir: string;
  /** When its processes were started, in ISO 8601. */
  readonly startedAt: string;
  /** The configuration that its processes run with: what `admin` needs to work on the same installation. */
  readonly environment: Readonly<Record<string, string>>;
  /** Upstreams whose credentials are in the environment of its processes, by name; the credentials are not stored. */
  readonly upstreamKeys?: readonly string[];
}

const FILE = 'instance.json';

/** Publishes the running installation. */
export async function writeInstance(instance: Omit<Instance, 'pid'>): Promise<void> {
  const startToken = (await readProcess(process.pid))?.startToken;
  const record = { pid: process.pid, startToken, ...instance };
  await writeFileAtomically(path.join(instance.dataDir, FILE), `${JSON.stringify(record, null, 2)}\n`, 0o600);
}

/** Removes it. */
export async function removeInstance(dataDir: string): Promise<void> {
  await rm(path.join(dataDir, FILE), { force: true });
}

/** The installation that runs on a data directory; undefined if none does. */
export async function readInstance(dataDir: string): Promise<Instance | undefined> {
  let record: Instance & { startToken: string };
  try {
    record = JSON.parse(await readFile(path.join(dataDir, FILE), 'utf8')) as Instance & { startToken: string };
  } catch {
    return undefined;
  }
  const { startToken, ...instance } = record;
  return (await isSameProcess({ pid: instance.pid, startToken })) ? instance : undefined;
}
