/**
 * A multipart form whose files are read from disk while it is sent: a request with fourteen images needs no more
 * memory than one chunk of one of them. Its length is known in advance, because not every server accepts chunked
 * requests.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { InputFile } from './provider.ts';
import { streamedBody } from './request-body.ts';
import type { DescribedPart, RequestBody, StreamedPiece } from './request-body.ts';

/** One part of a form: a string, or a file with its file name. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: InputFile; readonly fileName: string };

/** Builds a form. It can be sent once. @throws the errors of the file system. */
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
