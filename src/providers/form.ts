/**
 * A multipart form whose files are read from disk while it is sent: a request with fourteen images needs no more
 * memory than one chunk of one of them. Its length is known in advance, because not every server accepts chunked
 * requests.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { InputFile } from './provider.ts';
import type { RequestBody } from './request-body.ts';

/** One part of a form: a string, or a file with its file name. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: InputFile; readonly fileName: string };

/** Builds a form. It can be sent once. @throws the errors of the file system. */
export async function createForm(parts: readonly FormPart[]): Promise<RequestBody> {
  const boundary = `form-${randomBytes(16).toString('hex')}`;
  const pieces: (Buffer | InputFile)[] = [];
  let byteLength = 0;
  const addText = (text: string): void => {
    const bytes = Buffer.from(text, 'utf8');
    pieces.push(bytes);
    byteLength += bytes.length;
  };
  for (const part of parts) {
    addText(`--${boundary}\r\ncontent-disposition: form-data; name="${part.name}"`);
    if ('text' in part) {
      addText(`\r\n\r\n${part.text}\r\n`);
      continue;
    }
    addText(`; filename="${part.fileName}"\r\ncontent-type: ${part.file.mimeType}\r\n\r\n`);
    pieces.push(part.file);
    byteLength += (await stat(part.file.path)).size;
    addText('\r\n');
  }
  addText(`--${boundary}--\r\n`);

  async function* bytes(): AsyncGenerator<Buffer> {
    for (const piece of pieces) {
      if (Buffer.isBuffer(piece)) yield piece;
      else yield* createReadStream(piece.path) as AsyncIterable<Buffer>;
    }
  }
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const texts = pieces.filter((piece) => Buffer.isBuffer(piece));
  if (texts.length === pieces.length) return { contentType, body: Buffer.concat(texts), byteLength };
  const body = Readable.from(bytes(), { objectMode: false });
  // The sender sees the failure; if there is none, the error must not end the process.
  body.on('error', () => undefined);
  return { contentType, body, byteLength };
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
