/** The input of `models try`: from its arguments, with files for the fields that a provider sends itself. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AT_ONCE, UnsupportedMediaError, createMediaInspector } from '@darkroom/media/inspect';
import { isDataUrl, parseDataUrl } from '../../../domain/data-url.ts';
import { errorCodeOf } from '../../../domain/darkroom-error.ts';
import { isRecord } from '../../../domain/json.ts';
import type { InputFile, Provider } from '../../../providers/provider.ts';
import { isAccepted, mediaOf } from '../../../tasks/record/input-media.ts';
import type { MediaField } from '../../../tasks/record/input-media.ts';
import { AdminError } from '../admin-error.ts';

export type Input = Readonly<Record<string, unknown>>;

const MAX_INPUT_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Reads `--input`: JSON, `@file` with JSON, or single fields as `name=value`, later ones over earlier ones.
 *
 * @param base what single fields are added to, unless an object is given. @throws {AdminError}
 */
export async function readInput(given: readonly string[], base: Input, schema: Input): Promise<Input> {
  let input: Input | undefined;
  for (const argument of given) {
    if (argument.startsWith('{') || argument.startsWith('@')) {
      input = { ...input, ...parseObject(argument.startsWith('@') ? await readText(argument.slice(1)) : argument) };
      continue;
    }
    const equals = argument.indexOf('=');
    if (equals < 1) throw new AdminError(`--input: "${argument}" is neither a JSON object, nor @file, nor name=value`);
    const name = argument.slice(0, equals);
    input = { ...(input ?? base), [name]: valueOf(argument.slice(equals + 1), propertyOf(schema, name)) };
  }
  return input ?? base;
}

function parseObject(text: string): Input {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new AdminError(`--input: not JSON: ${error instanceof Error ? error.message : ''}`, { cause: error });
  }
  if (!isRecord(parsed)) throw new AdminError('--input: the JSON is not an object');
  return parsed;
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_INPUT_FILE_BYTES)
      throw new AdminError(`--input: ${file} has more than ${MAX_INPUT_FILE_BYTES} bytes`);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof AdminError) throw error;
    throw new AdminError(`--input: ${file} cannot be read (${errorCodeOf(error)})`, { cause: error });
  }
}

/** A number, boolean, list or object, where the schema does not want a text. */
function valueOf(text: string, property: Input): unknown {
  if (property['type'] === 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function propertyOf(schema: Input, name: string): Input {
  const { properties } = schema;
  const property = isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isRecord(property) ? property : {};
}

/** Fetches a URL into a file. @throws {AdminError} */
type FetchFile = (url: string, file: string) => Promise<void>;

/** A file of `--media`. */
interface GivenFile {
  /** `image_url`, `image_urls.0` */
  readonly position: string;
  readonly file: string;
}

/**
 * Reads `--media`: `field=path`, several of a list in their order.
 *
 * @returns the files, and the input with a URL in the place of each that it does not have. @throws {AdminError}
 */
export function readMedia(given: readonly string[], input: Input, schema: Input) {
  const files: GivenFile[] = [];
  const filled: Record<string, unknown> = { ...input };
  const lists = new Map<string, string[]>();
  for (const argument of given) {
    const equals = argument.indexOf('=');
    if (equals < 1) throw new AdminError(`--media: "${argument}" is not field=path`);
    const [field, file] = [argument.slice(0, equals), argument.slice(equals + 1)];
    const url = `https://media.invalid/${encodeURIComponent(path.basename(file))}`;
    if (propertyOf(schema, field)['type'] !== 'array') {
      files.push({ position: field, file });
      filled[field] ??= url;
      continue;
    }
    const list = lists.get(field) ?? [];
    lists.set(field, [...list, url]);
    filled[field] = lists.get(field);
    files.push({ position: `${field}.${list.length}`, file });
  }
  return { files, input: filled };
}

/**
 * The files that a provider sends itself, as a worker would have fetched them.
 *
 * @param given those of `--media`. @param scratch a directory for files out of data URLs, and those that `fetchFile` is
 *   asked to store. @throws {AdminError}
 */
export async function stageMedia(
  { takesMediaAsFiles = false }: Provider,
  {
    schema,
    input,
    given,
    scratch,
    fetchFile,
    option = '--media',
  }: {
    readonly schema: Input;
    readonly input: Input;
    readonly given: readonly GivenFile[];
    readonly scratch: string;
    /** Fetches a URL into a file. Default: such files have to be given. */
    readonly fetchFile?: FetchFile;
    /** The option that named the files, for messages. */
    readonly option?: string;
  },
): Promise<ReadonlyMap<string, InputFile>> {
  const fields = mediaOf(schema, input);
  const isTaken = ({ path: [field = ''] }: MediaField): boolean =>
    typeof takesMediaAsFiles === 'boolean' ? takesMediaAsFiles : takesMediaAsFiles.has(field);
  for (const { position } of given) {
    const field = fields.find((each) => positionOf(each) === position);
    if (field === undefined) {
      throw new AdminError(`${option}: ${position} is no file for the model: inputSchema gives it no contentMediaType`);
    }
    if (!isTaken(field)) {
      throw new AdminError(`${option}: the provider fetches ${position} from its URL; give that with --input`);
    }
  }
  const inspector = createMediaInspector({ turns: AT_ONCE });
  const media = new Map<string, InputFile>();
  try {
    for (const [index, field] of fields.filter(isTaken).entries()) {
      const position = positionOf(field);
      const file =
        given.find((each) => each.position === position)?.file ??
        (await unpack(field, path.join(scratch, `input-${index}`), fetchFile));
      const mimeType = await detectType(inspector, `${option}: ${position}`, file);
      if (!isAccepted(mimeType, field.accepts)) {
        throw new AdminError(
          `${option}: ${position}: ${file} is ${mimeType}, and inputSchema wants ${field.accepts.join(' or ')}`,
        );
      }
      media.set(position, { mimeType, path: file });
    }
  } finally {
    await inspector.close();
  }
  return media;
}

async function unpack(field: MediaField, file: string, fetchFile: FetchFile | undefined): Promise<string> {
  const position = positionOf(field);
  if (isDataUrl(field.value)) {
    const inline = parseDataUrl(field.value);
    if (inline === undefined) throw new AdminError(`--input: ${position}: not a data URL in base64`);
    await writeFile(file, inline.bytes);
    return file;
  }
  if (fetchFile === undefined) {
    throw new AdminError(
      `--media: a worker would fetch ${position} and send it; give the file: --media ${position}=<path>`,
    );
  }
  await fetchFile(field.value, file);
  return file;
}

async function detectType(
  inspector: ReturnType<typeof createMediaInspector>,
  where: string,
  file: string,
): Promise<string> {
  try {
    return (await inspector.inspectFile('models try', file)).mimeType;
  } catch (error) {
    if (error instanceof UnsupportedMediaError) {
      throw new AdminError(`${where}: ${file} is no image, video or audio that the service knows`);
    }
    const code = errorCodeOf(error);
    if (code === undefined) throw error;
    throw new AdminError(`${where}: ${file} cannot be read (${code})`, { cause: error });
  }
}

function positionOf({ path: steps }: MediaField): string {
  return steps.join('.');
}
