/**
 * The file that `configure` writes: where the service is, and the API key. A key gives away money, so a file that others
 * can read is refused, not only warned about.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { UsageError } from './errors.ts';
import type { World } from './world.ts';

export interface ConfigFile {
  readonly baseUrl?: string;
  readonly apiKey?: string;
}

const OWNER_ONLY = 0o600;
/** Group and others, whatever they may do. */
const OTHERS = 0o077;

/** `darkroom/config.json` in the folder that XDG_CONFIG_HOME names; a path that is not absolute is no name (XDG). */
export function configFilePath(environment: World['environment']): string {
  const named = environment['XDG_CONFIG_HOME'] ?? '';
  const home = environment['HOME'] ?? os.homedir();
  return path.join(path.isAbsolute(named) ? named : path.join(home, '.config'), 'darkroom', 'config.json');
}

/**
 * Reads the file.
 *
 * @returns undefined where there is none.
 * @throws {UsageError} others than its owner may touch it, or it is not of the form.
 */
export async function readConfigFile(file: string): Promise<ConfigFile | undefined> {
  let handle;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`${file} cannot be read (${String(code)})`, { cause: error });
  }
  try {
    const stats = await handle.stat();
    const { mode, uid } = stats;
    if (!stats.isFile()) throw new UsageError(`${file} is no file`);
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

/** Its content must not be in any message. */
function parse(file: string, text: string): ConfigFile {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new UsageError(`${file} is not JSON; configure writes it anew`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new UsageError(`${file} is not a JSON object; configure writes it anew`);
  }
  const config: { -readonly [Name in keyof ConfigFile]: ConfigFile[Name] } = {};
  for (const [name, value] of Object.entries(content)) {
    if (name !== 'baseUrl' && name !== 'apiKey') {
      throw new UsageError(`${file}: there is no setting of the name ${JSON.stringify(name)}`);
    }
    if (typeof value !== 'string') throw new UsageError(`${file}: ${name} is not a text`);
    config[name] = value;
  }
  return config;
}

/** Writes the file, whole or not at all, so that at no moment anybody else can read it. */
export async function writeConfigFile(file: string, config: ConfigFile): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = path.join(folder, `.config-${randomBytes(6).toString('hex')}.json`);
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
