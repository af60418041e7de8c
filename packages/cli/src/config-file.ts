/**
 * The file that `configure` writes: the URL of the service, and the API key. A key can spend money, so a file that
 * other users can read is rejected, not only warned about.
 */
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createDirectory } from './create-directory.ts';
import { errorCodeOf } from './error-code.ts';
import { UsageError } from './errors.ts';
import type { CliEnvironment } from './cli-environment.ts';

export interface ConfigFile {
  readonly baseUrl?: string;
  readonly apiKey?: string;
}

const OWNER_ONLY = 0o600;
/** The permission bits of group and others. */
const OTHERS = 0o077;

/** `darkroom/config.json` in the directory given by XDG_CONFIG_HOME; a relative path is ignored (XDG). */
export function configFilePath(environment: CliEnvironment['environment']): string {
  const named = environment['XDG_CONFIG_HOME'] ?? '';
  const home = environment['HOME'] ?? os.homedir();
  return path.join(path.isAbsolute(named) ? named : path.join(home, '.config'), 'darkroom', 'config.json');
}

/**
 * Reads the file.
 *
 * @returns undefined if there is none.
 * @throws {UsageError} other users have access to it, or its form is invalid.
 */
export async function readConfigFile(file: string): Promise<ConfigFile | undefined> {
  let handle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`${file} cannot be read (${code ?? String(error)})`, { cause: error });
  }
  try {
    const stats = await handle.stat();
    const { mode, uid } = stats;
    if (!stats.isFile()) throw new UsageError(`${file} is not a file`);
    if (process.platform !== 'win32') {
      if ((mode & OTHERS) !== 0) {
        throw new UsageError(`${file} holds an API key and is open to others; run: chmod 600 '${file}'`);
      }
      if (uid !== process.getuid?.()) throw new UsageError(`${file} belongs to another user`);
    }
    return parse(file, await handle.readFile('utf8'));
  } finally {
    await handle.close();
  }
}

/** Parses the file. Its content must not appear in any message. */
function parse(file: string, text: string): ConfigFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new UsageError(`${file} is not JSON; run configure to write it again`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new UsageError(`${file} is not a JSON object; run configure to write it again`);
  }
  const config: { -readonly [Name in keyof ConfigFile]: ConfigFile[Name] } = {};
  for (const [name, value] of Object.entries(content)) {
    if (name !== 'baseUrl' && name !== 'apiKey') {
      throw new UsageError(`${file}: there is no setting of the name ${JSON.stringify(name)}`);
    }
    if (typeof value !== 'string') throw new UsageError(`${file}: ${name} is not a string`);
    config[name] = value;
  }
  return config;
}

/**
 * Writes the file atomically, so that other users cannot read it at any moment.
 *
 * @throws {UsageError} its directory cannot be created.
 */
export async function writeConfigFile(file: string, config: ConfigFile): Promise<void> {
  const directory = path.dirname(file);
  await createDirectory(directory, { mode: 0o700 }).catch((error: unknown) => {
    throw new UsageError(`${directory} cannot be created: ${errorCodeOf(error) ?? String(error)}`, { cause: error });
  });
  const draft = path.join(directory, `.config-${randomBytes(6).toString('hex')}.json`);
  try {
    const handle = await open(draft, 'wx', OWNER_ONLY);
    try {
      await handle.writeFile(`${JSON.stringify(config, undefined, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
