/**
 * Reads the body of an upload: one file, sent as it is or in a form, or a form with several files, streamed and never
 * whole in memory (contract §7 "Uploads"). The request time-out does not fit a hundred megabytes on a slow line, so an upload
 * has limits of its own: for silence, for the average rate, and for the total time.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy';
import { ObjectTooLargeError } from '../../objects/stores/object-store.ts';
import { MAX_UPLOAD_BYTES } from '../../objects/uploads.ts';
import { RequestError, invalidRequest, invalidValue } from '../app/errors.ts';
import { drainRejected } from './json-body.ts';
import { exemptFromTimeout } from '../app/server.ts';

export interface UploadBounds {
  readonly maxBytes: number;
  /** How long a line may deliver nothing while we wait for it. */
  readonly idleMs: number;
  /** In each period of this length in which we wait for the line, it has to deliver `minBytesPerSecond` on average. */
  readonly paceMs: number;
  readonly minBytesPerSecond: number;
  readonly wholeMs: number;
}

export const UPLOAD_BOUNDS: UploadBounds = {
  maxBytes: MAX_UPLOAD_BYTES,
  // What an ordinary request may take in total.
  idleMs: 30_000,
  // The rate at which a client has to read a file (slow-readers.ts): a line that is too slow ends within two minutes,
  // whatever it had delivered before.
  paceMs: 60_000,
  minBytesPerSecond: 4_000,
  // The largest file at 28 kB/s.
  wholeMs: 3_600_000,
};

/** The maximum size of the boundaries and headers of a form, in addition to the file. */
const FORM_OVERHEAD_BYTES = 64 * 1024;
/** The limits of a form with nothing but a file. */
const FORM_LIMITS = { fieldSize: 1_024, headerPairs: 50, headerSize: 16 * 1024, parts: 2 };
/** The same for a form that also has fields, and may have several files. */
const FIELD_LIMITS = { ...FORM_LIMITS, fieldSize: 32_000, fields: 30, parts: 32 };
const MAX_QUOTED_NAME = 64;
/** What the parser makes of bytes that are not of the encoding that a part states, or of one that it does not know. */
const NOT_UTF8 = /[\0\ufffd]/;

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
  return receive(request, bounds, async (body, stop) => {
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
 * @throws {RequestError} 400, 408, 413 or 415, and what `store` and `files` throw; then no file is being stored any more.
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
  return receive(request, bounds, (body, stop) =>
    storeFromForm(
      { parser, parts: 'too many parts', files },
      { body, stop, store: (name, file) => store(name, file, stop.signal) },
    ),
  );
}

/** @param read reads the body, and throws when `stop` fires. */
async function receive<Result>(
  request: IncomingMessage,
  bounds: UploadBounds,
  read: (body: Readable, stop: AbortController) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  // One for each file that is being stored.
  setMaxListeners(0, stop.signal);
  const release = exemptFromTimeout(request);
  const { body, stopWatching } = watched(request, bounds, stop);
  try {
    return await read(body, stop);
  } catch (error) {
    drainRejected(request);
    if (error instanceof ObjectTooLargeError) throw tooLarge(error.maxBytes);
    throw error;
  } finally {
    stopWatching();
    release();
  }
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

/** The body as it arrives, with the line monitored: whatever ends it early fires `stop`. */
function watched(
  request: IncomingMessage,
  bounds: UploadBounds,
  stop: AbortController,
): { readonly body: Readable; readonly stopWatching: () => void } {
  let bytes = 0;
  let isWhole = false;
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!isWhole) idle.refresh();
      bytes += chunk.length;
      // Before the first part of a form, and between its lines, there may be anything of any length.
      if (bytes > bounds.maxBytes + FORM_OVERHEAD_BYTES) stop.abort(tooLarge(bounds.maxBytes));
      done(null, chunk);
    },
  });
  const idle = setTimeout(() => {
    const before = bytes;
    afterReading(() => {
      // More has arrived, which has restarted the timer, or everything has.
      if (isWhole || bytes > before) return;
      // Where the store is slow, it is we who hold up the line.
      if (body.writableNeedDrain) idle.refresh();
      else stop.abort(tooSlow());
    });
  }, bounds.idleMs);
  const pace = watchPace(
    bounds,
    () => bytes,
    () => stop.abort(tooSlow()),
  );
  // Emitted by the pipe when the store is behind, and when it has caught up.
  request.on('pause', pace.hold);
  body.on('drain', pace.resume);
  const whole = setTimeout(() => stop.abort(tooSlow()), bounds.wholeMs);
  const onClose = (): void => {
    // Data that had arrived and was not read is lost.
    if (!request.readableEnded) stop.abort(notWhole());
  };
  // The line has delivered everything; what follows takes as long as the store does.
  const onEnd = (): void => {
    isWhole = true;
    clearTimeout(idle);
    pace.stop();
  };
  request.once('end', onEnd);
  request.once('close', onClose);
  // The close that follows reports it; without a listener it would end the process.
  request.on('error', onClose);
  body.on('error', () => undefined);
  stop.signal.addEventListener('abort', () => body.destroy(stop.signal.reason as Error), { once: true });
  // A client that disconnected before there was a listener emits no further event.
  if (request.destroyed) onClose();
  // Unlike a pipeline, this does not destroy the request with the body: the error response needs its connection.
  request.pipe(body);
  return {
    body,
    stopWatching: () => {
      onEnd();
      clearTimeout(whole);
      request.off('end', onEnd);
      request.off('pause', pace.hold);
      request.off('close', onClose);
    },
  };
}

/** A process that stood still runs its timers before it reads what has arrived meanwhile. */
function afterReading(check: () => void): void {
  setImmediate(check);
}

/**
 * Checks the rate of a line period by period, so that sending fast at first earns no credit for later. Time in
 * which the upload waits for the service does not count.
 *
 * @param bytesSoFar the bytes that have arrived.
 */
function watchPace(
  { paceMs, minBytesPerSecond }: UploadBounds,
  bytesSoFar: () => number,
  onSlow: () => void,
): { readonly hold: () => void; readonly resume: () => void; readonly stop: () => void } {
  let before = 0;
  let heldSince: number | undefined;
  let heldMs = 0;
  const resume = (): void => {
    if (heldSince !== undefined) heldMs += performance.now() - heldSince;
    heldSince = undefined;
  };
  const checkPace = (): void => {
    const isHeld = heldSince !== undefined;
    resume();
    if (isHeld) heldSince = performance.now();
    if (heldMs >= 1) {
      // The line still has that time.
      timer = setTimeout(checkPace, heldMs);
      heldMs = 0;
      return;
    }
    afterReading(() => {
      if (isStopped) return;
      const bytes = bytesSoFar();
      if (bytes - before < (minBytesPerSecond * paceMs) / 1000) {
        onSlow();
        return;
      }
      before = bytes;
      timer = setTimeout(checkPace, paceMs);
    });
  };
  let isStopped = false;
  let timer = setTimeout(checkPace, paceMs);
  return {
    hold() {
      heldSince ??= performance.now();
    },
    resume,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
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

/** 413 for a file. */
export function tooLarge(maxBytes: number): RequestError {
  const message = `the file is larger than ${maxBytes} bytes`;
  return new RequestError('payload_too_large', message);
}

function tooSlow(): RequestError {
  const message = 'the upload did not arrive in time';
  // The rest of the upload must not be taken for the next request.
  const headers = { Connection: 'close' };
  return new RequestError('request_timeout', message, { headers });
}

function notWhole(): RequestError {
  return invalidRequest('invalid request: the body did not arrive whole');
}
