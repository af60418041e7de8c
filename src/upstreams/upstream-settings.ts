/**
 * The credentials and URLs of upstreams in a running process: from the environment, read once; from files that it
 * names, which are read again when they change; and from PostgreSQL, where operators store them. The environment comes
 * before a stored setting, so that a configuration that is managed elsewhere cannot be overridden by accident.
 */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readFileSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { WrongEncryptionKeyError } from '../accounts/secret-cipher.ts';
import type { SecretCipher } from '../accounts/secret-cipher.ts';
import { ownerOf, readStoredSettings } from '../accounts/stored-upstream-settings.ts';
import { watchDirectories } from '../catalogue/watch-directories.ts';
import type { UpstreamEnvironment } from '../config/environment.ts';
import type { Database } from '../database/database.ts';
import { canonicalName } from '../domain/upstream-names.ts';
import { errorCodeOf } from '../domain/darkroom-error.ts';
import type { Logger } from '../telemetry/log.ts';
import type { SecretSource } from './secrets.ts';

/** Where a setting comes from. */
export type SettingSource = 'environment' | 'file' | 'stored';

export interface UpstreamSettings extends SecretSource {
  hasCredential(name: string): boolean;
  /** Where the credential comes from; undefined: there is none. */
  credentialSourceOf(name: string): SettingSource | undefined;
  /** The URL that replaces that of a provider's file. */
  baseUrlOf(name: string): string | undefined;
  baseUrlSourceOf(name: string): SettingSource | undefined;
  /** Calls the listener after each change. @returns ends that. */
  onChange(listener: () => void): () => void;
  /** Reads the stored settings again. If the database is unavailable, those that are known stay. Never fails. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface UpstreamSettingsOptions {
  readonly environment: UpstreamEnvironment;
  readonly database: Database;
  readonly cipher: SecretCipher;
  readonly logger: Logger;
  /** How often stored settings are read. */
  readonly storedMs?: number;
  /** How often files are read if no event reports a change. */
  readonly filesMs?: number;
}

const STORED_MS = 5_000;
const FILES_MS = 10_000;
/** For how long a file must stay unchanged: editors write in several steps. */
const SETTLE_MS = 250;
/** A credential is small; a key file of Google has about 2 kB. */
const MAX_FILE_BYTES = 65_536;

const NO_FILE: readonly string[] = ['ENOENT', 'ENOTDIR'];

interface Stored {
  readonly secret: string | undefined;
  readonly baseUrl: string | undefined;
}

/** Reads the files at once; `refresh` reads what is stored for the first time. */
export function createUpstreamSettings({
  environment,
  database,
  cipher,
  logger,
  storedMs = STORED_MS,
  filesMs = FILES_MS,
}: UpstreamSettingsOptions): UpstreamSettings {
  const values = byCanonicalName(environment.secrets);
  const urls = byCanonicalName(environment.baseUrls);
  const paths = byCanonicalName(environment.secretFiles);
  const files = new Map<string, string>();
  /** What is wrong with files, as it was logged last. */
  const problems = new Map<string, string>();
  let stored = new Map<string, Stored>();
  /** What was read last: its decryption is not repeated. */
  let version = '[]';
  const listeners = new Set<() => void>();
  let isClosed = false;

  const notify = (): void => {
    for (const listener of listeners) listener();
  };

  /** @returns whether the credential is another one now. A file that is no credential leaves it as it is. */
  const adoptFile = (name: string, file: string, content: CredentialFile): boolean => {
    const fields = { credentialName: name, file };
    if ('problem' in content) {
      if (problems.get(name) === content.problem) return false;
      problems.set(name, content.problem);
      const remains = files.has(name) ? 'the previous one stays in use' : 'there is none until it is repaired';
      logger.error(
        { ...fields, problem: content.problem },
        `the file with the credential of an upstream cannot be used; ${remains}: ${content.problem}`,
      );
      return false;
    }
    problems.delete(name);
    const { secret } = content;
    const before = files.get(name);
    if (secret === before) return false;
    if (secret === undefined) files.delete(name);
    else files.set(name, secret);
    if (secret === undefined) logger.warn(fields, 'the credential of an upstream was removed with its file');
    else logger.info(fields, 'the credential of an upstream was read from its file');
    return true;
  };

  for (const [name, file] of paths) {
    const content = readCredentialFileSync(file);
    adoptFile(name, file, content);
    if ('secret' in content && content.secret === undefined) {
      logger.warn(
        { credentialName: name, file },
        'the file with the credential of an upstream is missing or empty; it is used once it has one',
      );
    }
  }

  const readFiles = async (): Promise<ReadonlyMap<string, CredentialFile>> => {
    const contents = new Map<string, CredentialFile>();
    for (const [name, file] of paths) contents.set(name, await readCredentialFile(file));
    return contents;
  };

  const isNew = (name: string, content: CredentialFile): boolean =>
    'problem' in content
      ? problems.get(name) !== content.problem
      : problems.has(name) || content.secret !== files.get(name);

  async function refreshFiles(): Promise<void> {
    if (![...(await readFiles())].some(([name, content]) => isNew(name, content))) return;
    await delay(SETTLE_MS);
    const settled = await readFiles();
    const changes = [...settled].filter(([name, content]) => adoptFile(name, paths.get(name) ?? '', content));
    if (changes.length > 0 && !isClosed) notify();
  }

  async function refreshStored(): Promise<void> {
    const rows = await readStoredSettings(database);
    const now = rows.map(({ name, updatedAt, encrypted }) => [
      name,
      updatedAt.getTime(),
      encrypted?.toString('base64'),
    ]);
    if (JSON.stringify(now) === version) return;
    const next = new Map<string, Stored>();
    for (const { name, encrypted, baseUrl } of rows) {
      next.set(name, {
        secret: encrypted === null ? undefined : decrypt(name, encrypted),
        baseUrl: baseUrl ?? undefined,
      });
    }
    stored = next;
    version = JSON.stringify(now);
    if (!isClosed) notify();
  }

  const decrypt = (name: string, encrypted: Buffer): string | undefined => {
    try {
      return cipher.decrypt(ownerOf(name), encrypted).secret;
    } catch (error) {
      if (!(error instanceof WrongEncryptionKeyError)) throw error;
      logger.error(
        { credentialName: name },
        'a stored credential was encrypted with another ENCRYPTION_KEY: set it again, or add that key to ENCRYPTION_KEY_FALLBACKS',
      );
      return undefined;
    }
  };

  let refreshing: Promise<void> | undefined;
  const refresh = (): Promise<void> =>
    (refreshing ??= refreshStored()
      .catch((err: unknown) => {
        if (!isClosed) logger.warn({ err }, 'reading the stored settings of upstreams failed');
      })
      .finally(() => (refreshing = undefined)));

  let readingFiles: Promise<void> | undefined;
  let isHinted = false;
  const hint = (): void => {
    isHinted = true;
    readingFiles ??= (async () => {
      while (isHinted && !isClosed) {
        isHinted = false;
        await refreshFiles();
      }
    })().finally(() => (readingFiles = undefined));
  };
  const directories = [...new Set([...paths.values()].map((file) => path.dirname(file)))];
  const watching = watchDirectories(() => Promise.resolve(directories), hint, filesMs);
  const clock = setInterval(() => void refresh(), storedMs);
  clock.unref();

  const credentialOf = (name: string): { readonly secret: string; readonly source: SettingSource } | undefined => {
    const canonical = canonicalName(name);
    for (const [secret, source] of [
      [values.get(canonical), 'environment'],
      [files.get(canonical), 'file'],
      [stored.get(canonical)?.secret, 'stored'],
    ] as const) {
      if (secret !== undefined) return { secret, source };
    }
    return undefined;
  };

  return {
    get: (name) => credentialOf(name)?.secret,
    hasCredential: (name) => credentialOf(name) !== undefined,
    credentialSourceOf: (name) => credentialOf(name)?.source,
    baseUrlOf: (name) => urls.get(canonicalName(name)) ?? stored.get(canonicalName(name))?.baseUrl,
    baseUrlSourceOf(name) {
      if (urls.has(canonicalName(name))) return 'environment';
      return stored.get(canonicalName(name))?.baseUrl === undefined ? undefined : 'stored';
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    refresh,
    async close() {
      isClosed = true;
      clearInterval(clock);
      watching.close();
      await Promise.all([refreshing, readingFiles]);
    },
  };
}

/** Empty values count as none. */
function byCanonicalName(values: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const entries = Object.entries(values).map(([name, value]) => [canonicalName(name), value.trim()] as const);
  return new Map(entries.filter(([, value]) => value !== ''));
}

/** What a file with a credential contains. */
type CredentialFile =
  /** Undefined: there is no such file, or it is empty. */
  | { readonly secret: string | undefined }
  /** It is no credential, or cannot be read; without anything of its content. */
  | { readonly problem: string };

async function readCredentialFile(file: string): Promise<CredentialFile> {
  try {
    // Before it is read: a pipe never ends, and a file may be of any size.
    const problem = findFileProblem(await stat(file));
    return problem === undefined ? parseCredential(await readFile(file)) : { problem };
  } catch (error) {
    return unreadable(error);
  }
}

/** The same, at start: what is offered first depends on it. */
function readCredentialFileSync(file: string): CredentialFile {
  try {
    const problem = findFileProblem(statSync(file));
    return problem === undefined ? parseCredential(readFileSync(file)) : { problem };
  } catch (error) {
    return unreadable(error);
  }
}

function findFileProblem(found: Stats): string | undefined {
  if (!found.isFile()) return 'it is not a file';
  return found.size > MAX_FILE_BYTES
    ? `it has ${found.size} bytes, and a credential at most ${MAX_FILE_BYTES}`
    : undefined;
}

function parseCredential(content: Buffer): CredentialFile {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return { problem: 'it is not text in UTF-8' };
  }
  if (text.includes('\0')) return { problem: 'it has a NUL character' };
  const secret = text.trim();
  return { secret: secret === '' ? undefined : secret };
}

function unreadable(error: unknown): CredentialFile {
  const code = errorCodeOf(error) ?? '';
  return NO_FILE.includes(code) ? { secret: undefined } : { problem: `it cannot be read (${code})` };
}
