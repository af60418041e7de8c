/**
 * Reads the body of an upload: one file, sent as it is or in a form, or a form with several files, streamed and never
 * whole in memory (contract §7 "Uploads"), and the other fields of forms. What a slow line may do is in upload-line.ts.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import { RequestError, invalidRequest, invalidValue } from '../app/errors.ts';
import { FORM_OVERHEAD_BYTES, UPLOAD_BOUNDS, receiveBody, tooLarge } from './upload-line.ts';
import type { UploadBounds } from './upload-line.ts';

/** The limits of a form with nothing but a file. */
const FORM_LIMITS = { fieldSize: 1_024, headerPairs: 50, headerSize: 16 * 1024, parts: 2 };
/** The same for a form that also has fields, and may have several files. */
const FIELD_LIMITS = { ...FORM_LIMITS, fieldSize: 32_000, fields: 30, parts: 32 };
const MAX_QUOTED_NAME = 64;
/** What the parser makes of bytes that are not of the encoding that a part states, or of one that it does not know. */
const NOT_UTF8 = /[\0\ufffd]/;
const TRUE = /^(?:true|1)$/i;
const FALSE = /^(?:false|0)$/i;

/** The fields that a form has beside its file. */
export interface FormFields {
  /** The name of the file's own field; undefined: any. */
  readonly file: string | undefined;
  /** @throws {RequestError} */
  take(name: string, value: string): void;
}

/** What a form says of its file; both undefined: the body is the file itself. */
export interface SentFile {
  readonly field: string | undefined;
  /** The file's name on the client's machine. */
  readonly name: string | undefined;
}

/** A form that may have several files. */
export interface FilesForm {
  /**
   * Decides about a file before its bytes are read.
   *
   * @param count how many files came before it. @throws {RequestError}
   */
  admit(name: string, count: number): void;
  /** @throws {RequestError} */
  take(name: string, value: string): void;
}

/**
 * Reads the one file of an upload.
 *
 * @param store stores the file. It may have succeeded although this throws, because the rest of the form was invalid:
 *   the caller then removes the file. Its signal fires when the body can no longer be received completely.
 * @param fields those of the form beside the file; absent: it has none, or the body is the file itself.
 * @throws {RequestError} 400, 408, 413 or 415, and what `store` throws.
 */
export async function receiveUpload<Stored>(
  request: IncomingMessage,
  store: (file: Readable, signal: AbortSignal, sent: SentFile) => Promise<Stored>,
  bounds: UploadBounds = UPLOAD_BOUNDS,
  fields?: FormFields,
): Promise<Stored> {
  requireAcceptable(request, bounds);
  if (fields !== undefined) requireForm(request);
  const parser = isForm(request) ? parserOf(request, fields === undefined ? FORM_LIMITS : FIELD_LIMITS) : undefined;
  return receiveBody(request, bounds, async (body, stop) => {
    if (parser === undefined) return store(body, stop.signal, { field: undefined, name: undefined });
    const form = {
      parser,
      parts: fields === undefined ? 'more than one part' : 'too many parts',
      files: oneFile(fields),
    };
    const storeSent = (field: string, file: Readable, name: string | undefined): Promise<Stored> =>
      store(file, stop.signal, { field, name });
    const stored = await storeFromForm(form, { body, stop, store: storeSent });
    const [first] = stored.map((value) => ({ value }));
    if (first === undefined) {
      const options = { param: fields?.file ?? 'file', keyword: 'required' };
      throw invalidRequest('invalid request: missing property: file', options);
    }
    return first.value;
  });
}

/**
 * Reads a form with any number of files.
 *
 * @param store stores one of them, as `receiveUpload` has it.
 * @param bounds of the whole form.
 * @returns what was stored, in the order of the form.
 * @throws {RequestError} 400, 408, 413 or 415, and what `store` and `files` throw; then no file is being stored any
 *   more.
 */
export async function receiveFiles<Stored>(
  request: IncomingMessage,
  store: (name: string, file: Readable, signal: AbortSignal) => Promise<Stored>,
  bounds: UploadBounds,
  files: FilesForm,
): Promise<readonly Stored[]> {
  requireAcceptable(request, bounds);
  requireForm(request);
  const parser = parserOf(request, FIELD_LIMITS);
  return receiveBody(request, bounds, (body, stop) =>
    storeFromForm(
      { parser, parts: 'too many parts', files },
      { body, stop, store: (name, file) => store(name, file, stop.signal) },
    ),
  );
}

function requireForm(request: IncomingMessage): void {
  if (isForm(request)) return;
  throw new RequestError('unsupported_media_type', 'send the body as Content-Type: multipart/form-data');
}

/** Checks that need the headers alone, before a byte is read. */
function requireAcceptable({ headers }: IncomingMessage, bounds: UploadBounds): void {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    const message = 'send the file as it is, without Content-Encoding';
    throw new RequestError('unsupported_media_type', message);
  }
  if (Number(headers['content-length'] ?? 0) > bounds.maxBytes + FORM_OVERHEAD_BYTES) throw tooLarge(bounds.maxBytes);
}

/** Whether the body is a form, and not the file itself. */
export function isForm({ headers }: IncomingMessage): boolean {
  return /^\s*multipart\/form-data\s*(;|$)/i.test(headers['content-type'] ?? '');
}

function parserOf({ headers }: IncomingMessage, limits: typeof FORM_LIMITS): BusboyInstance {
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits,
      // Form libraries state a type for text as well, and some an empty file name: only a file name makes a file.
      isPartAFile: (_field, _type, name) => name !== undefined && name !== '',
    });
  } catch {
    throw invalidRequest('invalid request: the Content-Type names no boundary of the form');
  }
}

interface ParsedForm {
  readonly parser: BusboyInstance;
  /** What there is too much of, if the form exceeds its limits. */
  readonly parts: string;
  readonly files: FilesForm;
}

/** @param fields those beside the file; undefined: there are none. */
function oneFile(fields: FormFields | undefined): FilesForm {
  return {
    admit(name, count) {
      if (fields?.file !== undefined && name !== fields.file) throw unknownField(name);
      if (count > 0) throw invalidRequest('invalid request: the form has more than one file');
    },
    take(name, value) {
      if (fields === undefined) throw unknownField(name);
      fields.take(name, value);
    },
  };
}

async function storeFromForm<Stored>(
  { parser, parts, files }: ParsedForm,
  {
    body,
    stop,
    store,
  }: {
    readonly body: Readable;
    readonly stop: AbortController;
    readonly store: (field: string, file: Readable, name: string | undefined) => Promise<Stored>;
  },
): Promise<readonly Stored[]> {
  const storing: Promise<Stored>[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error), { once: true });
    parser.on('file', (name, file, fileName) => {
      file.on('error', () => undefined);
      try {
        files.admit(quoted(name), storing.length);
      } catch (error) {
        file.resume();
        stop.abort(error);
        return;
      }
      const stored = store(quoted(name), file, fileName);
      // A file that cannot be stored ends the reading.
      stored.catch((error: unknown) => stop.abort(error));
      storing.push(stored);
    });
    parser.on('field', (name, value, _isNameCut, isCut) => {
      try {
        if (isCut) throw tooLong(name);
        if (NOT_UTF8.test(value)) throw invalidValue(quoted(name), 'the text is not UTF-8');
        files.take(quoted(name), value);
      } catch (error) {
        stop.abort(error);
      }
    });
    for (const limit of ['partsLimit', 'fieldsLimit'] as const) {
      parser.on(limit, () => stop.abort(invalidRequest(`invalid request: the form has ${parts}`)));
    }
    parser.on('error', () => stop.abort(invalidRequest('invalid request: the form is not well-formed or breaks off')));
    parser.on('finish', resolve);
  });
  body.pipe(parser);
  try {
    await ended;
  } finally {
    // If it failed, the caller removes what was stored: storing must have ended by then.
    await Promise.allSettled(storing);
  }
  return Promise.all(storing);
}

function tooLong(name: string): RequestError {
  const field = quoted(name);
  const message = `invalid request: ${field}: it is too long for a text; the part of a file needs a filename`;
  return invalidRequest(message, { param: field });
}

/** 400: a form has a field that there is not. */
export function unknownField(name: string | undefined): RequestError {
  const shown = quoted(name);
  return invalidRequest(`additional properties not allowed: ${shown}`, { param: shown, code: 'unknown_parameter' });
}

function quoted(name: string | undefined): string {
  return (name ?? '').replace(/\p{Cc}/gu, '').slice(0, MAX_QUOTED_NAME);
}

/** The types of a form's fields, which are all texts, as the schema of the request has them. */
interface FieldTypes {
  readonly numbers: readonly string[];
  readonly booleans: readonly string[];
  /** Those that are lists even where their names do not end with `[]`. */
  readonly lists?: readonly string[];
}

/** Whether a text of a form is as if not given: form libraries send the line end of an empty text area. */
export function isEmptyText(value: string): boolean {
  return value.trim() === '';
}

/** Collects fields as they arrive. Those whose names end with `[]` are lists. An empty text is as if not given. */
export class FormDecoder {
  readonly #types: FieldTypes;
  readonly #fields = new Map<string, unknown>();

  constructor(types: FieldTypes) {
    this.#types = types;
  }

  /** @throws {RequestError} a field that is no list is given twice. */
  take(name: string, value: string): void {
    if (isEmptyText(value)) return;
    const listed = name.endsWith('[]') ? name.slice(0, -2) : name;
    if (listed !== name || this.#types.lists?.includes(name) === true) {
      const list = this.#fields.get(listed);
      this.#fields.set(listed, [...(Array.isArray(list) ? list : []), value]);
      return;
    }
    if (this.#fields.has(name)) {
      throw new RequestError('invalid_request', `invalid request: ${name}: it is given twice`, { param: name });
    }
    this.#fields.set(name, this.#decoded(name, value));
  }

  fields(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#fields);
  }

  /** What is not of the type stays a text, which the schema rejects. */
  #decoded(name: string, value: string): unknown {
    const { numbers, booleans } = this.#types;
    if (numbers.includes(name) && Number.isFinite(Number(value))) return Number(value);
    // Python writes them with a capital, and others as numbers.
    if (booleans.includes(name) && (TRUE.test(value) || FALSE.test(value))) return TRUE.test(value);
    return value;
  }
}
