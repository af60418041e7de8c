/**
 * The model files of some directories: their names and contents. Separate from their meaning (load-models.ts), because
 * a running process reads the files repeatedly and parses only new content.
 */
import { readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { DarkroomError, errorCodeOf } from '../domain/darkroom-error.ts';

/** How a problem begins that has a position. */
const POSITION = /^(?:invalid \w+ file: )?([\w$.[\]-]{1,100}|line \d+, column \d+): /;

/** A model file, or a directory of them, that cannot be used. */
export class ModelFileError extends DarkroomError {
  override readonly name = 'ModelFileError';
  override readonly kind = 'configuration_invalid';
  readonly file: string;
  /** The position in the file, if it has one, and the reason. */
  readonly problem: string;

  constructor(file: string, problem: string, options: { cause?: unknown } = {}) {
    super(`${file}: ${problem}`, options);
    this.file = file;
    this.problem = problem;
  }

  /** The position alone: that of a member (`pricing.usd`) or `line 3, column 5`; undefined if it has none. */
  get member(): string | undefined {
    return POSITION.exec(this.problem)?.[1];
  }
}

/** Several that cannot be used: one line each. */
export class ModelFilesError extends DarkroomError {
  override readonly name = 'ModelFilesError';
  override readonly kind = 'configuration_invalid';

  constructor(problems: readonly ModelFileError[]) {
    super(problems.map(({ message }) => message).join('\n'));
  }
}

/** @throws {ModelFileError} the one that is bad. @throws {ModelFilesError} there are several. */
export function throwProblems(problems: readonly ModelFileError[]): void {
  const [first, ...others] = problems;
  if (first !== undefined) throw others.length === 0 ? first : new ModelFilesError(problems);
}

/**
 * By path, in the order of the directories and of the names in them: the content of a file, or why it cannot be read.
 */
export type ModelTexts = ReadonlyMap<string, string | ModelFileError>;

/**
 * The maximum size of a model file: many times the size of any reasonable one, so that a mistake is not read into
 * memory.
 */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** The subdirectory with a directory for each provider. */
const PROVIDERS = 'providers';
/** The file in it that describes the provider; the others are model files. */
const PROVIDER_FILE = 'provider.json';

/** Whether a file describes a provider and not a model. */
export function isProviderFile(file: string): boolean {
  return path.basename(file) === PROVIDER_FILE && path.basename(path.dirname(path.dirname(file))) === PROVIDERS;
}

/**
 * Reads every `*.json` of the directories and of `providers/*` in them, except hidden ones: those belong to editors and
 * to mounted volumes.
 */
export async function readModelTexts(directories: readonly string[]): Promise<ModelTexts> {
  const texts = new Map<string, string | ModelFileError>();
  for (const directory of directories) {
    await readDirectory(directory, texts);
    for (const provider of await listProviders(directory)) await readDirectory(provider, texts);
  }
  return texts;
}

/** The directories of these whose changes matter: a new provider is one in `providers`. */
export async function listModelDirectories(directories: readonly string[]): Promise<readonly string[]> {
  const all = await Promise.all(
    directories.map(async (directory) => [
      directory,
      path.join(directory, PROVIDERS),
      ...(await listProviders(directory)),
    ]),
  );
  return all.flat();
}

/** None if there is no such subdirectory, or it cannot be read. */
async function listProviders(directory: string): Promise<readonly string[]> {
  const parent = path.join(directory, PROVIDERS);
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.name.startsWith('.') && !entry.isFile())
    .map(({ name }) => path.join(parent, name))
    .sort();
}

async function readDirectory(directory: string, texts: Map<string, string | ModelFileError>): Promise<void> {
  try {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
    for (const name of names.sort()) {
      const file = path.join(directory, name);
      texts.set(file, await readModelText(file));
    }
  } catch (error) {
    texts.set(directory, unreadable(directory, error));
  }
}

/** Whether both contain the same. */
export function isSameTexts(one: ModelTexts, other: ModelTexts): boolean {
  return one.size === other.size && [...one].every(([file, text]) => isSame(text, other.get(file)));
}

function isSame(one: string | ModelFileError, other: string | ModelFileError | undefined): boolean {
  if (one instanceof ModelFileError) return other instanceof ModelFileError && one.problem === other.problem;
  return one === other;
}

/** Reads one file, whatever its name. */
export async function readModelText(file: string): Promise<string | ModelFileError> {
  try {
    // Through links: a mounted volume consists of them. A pipe would never end.
    const found = await stat(file);
    if (!found.isFile()) return new ModelFileError(file, 'not a file');
    if (found.size > MAX_FILE_BYTES) {
      return new ModelFileError(file, `it has ${found.size} bytes, and a model file at most ${MAX_FILE_BYTES}`);
    }
    return parseText(file, await readFile(file));
  } catch (error) {
    return unreadable(file, error);
  }
}

/** Without a byte order mark. What is not UTF-8 would become other characters, in an expression too. */
function parseText(file: string, content: Buffer): string | ModelFileError {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (error) {
    return new ModelFileError(file, 'it is not text in UTF-8', { cause: error });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  ENOTDIR: 'not a directory',
  EACCES: 'this process may not read it',
  ELOOP: 'a link that leads to itself',
};

function unreadable(file: string, error: unknown): ModelFileError {
  const code = errorCodeOf(error) ?? '';
  return new ModelFileError(file, REASONS[code] ?? `cannot be read (${code})`, { cause: error });
}

/** @throws {ModelFileError} it is not JSON. */
export function parseModelFile(file: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const problem = error instanceof Error ? error.message : 'not JSON';
    throw new ModelFileError(file, `${positionIn(text, problem)}${problem}`, { cause: error });
  }
}

/** Newer versions of Node report the line themselves. */
function positionIn(text: string, problem: string): string {
  const position = / at position (\d+)$/.exec(problem)?.[1];
  if (position === undefined) return '';
  const lines = text.slice(0, Number(position)).split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: `;
}
