/**
 * The body of a request to an upstream: JSON, a form, or a stream. Its length is known in advance, because not every
 * server takes chunks.
 */
import { Readable } from 'node:stream';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { InputFile } from './provider.ts';

export interface RequestBody {
  readonly contentType: string;
  /** A stream can be sent once, and is destroyed if it is not sent to its end. */
  readonly body: Buffer | Readable;
  readonly byteLength: number;
  /** What a form or a body with files consists of, for people. */
  describe?(): BodyDescription;
}

/** JSON with the sizes of files in place of their bytes, or the parts of a form. */
export type BodyDescription = { readonly json: string } | { readonly form: readonly DescribedPart[] };

export type DescribedPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly fileName: string; readonly mimeType: string; readonly byteLength: number };

/** @param value anything that has a JSON form. */
export function jsonBody(value: unknown): RequestBody {
  const body = Buffer.from(JSON.stringify(value), 'utf8');
  return { contentType: 'application/json', body, byteLength: body.length };
}

/** A part of a body that is read while it is sent. */
export interface StreamedPiece {
  readonly byteLength: number;
  read(): AsyncIterable<Buffer>;
}

/** A body that is put together while it is sent, so that it needs no more memory than one chunk. */
export function streamedBody(contentType: string, pieces: readonly (Buffer | StreamedPiece)[]): RequestBody {
  async function* bytes(): AsyncGenerator<Buffer> {
    for (const piece of pieces) {
      if (Buffer.isBuffer(piece)) yield piece;
      else yield* piece.read();
    }
  }
  const byteLength = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const body = Readable.from(bytes(), { objectMode: false });
  // The sender sees the failure; if there is none, the error must not end the process.
  body.on('error', () => undefined);
  return { contentType, body, byteLength };
}

/** Gives a body up that will not be sent. */
export function discardBody(content: RequestBody | undefined): void {
  if (content !== undefined && !Buffer.isBuffer(content.body)) content.body.destroy();
}

/** One part of a form: a string, or a file with its file name. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: InputFile; readonly fileName: string };

/**
 * Builds a multipart form whose files are read from disk while it is sent: a request with fourteen images needs no more
 * memory than one chunk of one of them. It can be sent once.
 *
 * @throws the errors of the file system.
 */
export async function createForm(parts: readonly FormPart[]): Promise<RequestBody> {
  const boundary = `form-${randomBytes(16).toString('hex')}`;
  const pieces: (Buffer | StreamedPiece)[] = [];
  const described: DescribedPart[] = [];
  const addText = (text: string): void => {
    pieces.push(Buffer.from(text, 'utf8'));
  };
  for (const part of parts) {
    addText(`--${boundary}\r\ncontent-disposition: form-data; name="${part.name}"`);
    if ('text' in part) {
      addText(`\r\n\r\n${part.text}\r\n`);
      described.push(part);
      continue;
    }
    const { mimeType, path } = part.file;
    addText(`; filename="${part.fileName}"\r\ncontent-type: ${mimeType}\r\n\r\n`);
    const byteLength = (await stat(path)).size;
    pieces.push({ byteLength, read: () => createReadStream(path) });
    described.push({ name: part.name, fileName: part.fileName, mimeType, byteLength });
    addText('\r\n');
  }
  addText(`--${boundary}--\r\n`);

  const contentType = `multipart/form-data; boundary=${boundary}`;
  const texts = pieces.filter((piece) => Buffer.isBuffer(piece));
  const describe = () => ({ form: described });
  if (texts.length < pieces.length) return { ...streamedBody(contentType, pieces), describe };
  const body = Buffer.concat(texts);
  return { contentType, body, byteLength: body.length, describe };
}

/**
 * The fields of an input as strings of a form, lists as `name[]`; undefined and null are omitted.
 *
 * @param without names that do not go into the form.
 */
export function textParts(
  fields: Readonly<Record<string, unknown>>,
  without: ReadonlySet<string> = new Set(),
): readonly FormPart[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (without.has(name) || !/^[\w-]{1,64}$/.test(name)) return [];
    return Array.isArray(value) ? value.flatMap((item) => textPart(`${name}[]`, item)) : textPart(name, value);
  });
}

function textPart(name: string, value: unknown): readonly FormPart[] {
  if (value === undefined || value === null) return [];
  return [{ name, text: typeof value === 'string' ? value : JSON.stringify(value) }];
}
