/**
 * The files of an input in the expressions of a binding. An expression never sees their bytes: it sees a marker, which
 * is replaced by the bytes in base64 while the request is sent, so that a request with large files needs no more
 * memory than one with small ones.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { extensionFor } from '@darkroom/media/media-types';
import type { InputFile } from '../provider.ts';
import { jsonBody, streamedBody } from '../request-body.ts';
import type { BodyDescription, RequestBody } from '../request-body.ts';

/** What an expression sees of a file, as an element of `$media`, in the place where the input has it. */
export interface MediaValue {
  readonly mimeType: string;
  readonly name: string;
  readonly byteLength: number;
  /** Markers. */
  readonly base64: string;
  readonly dataUrl: string;
  /** What the provider calls it, if it was uploaded. */
  readonly reference?: unknown;
}

/** The files of one request. */
export interface MediaInputs {
  /** By the position in the input: `image_urls.0`. */
  readonly values: ReadonlyMap<string, MediaValue>;
  /** A body with the bytes in place of their markers. */
  bodyOf(value: unknown): RequestBody;
  /** Whether a text has a marker, which only a body may have. */
  hasMarker(text: string): boolean;
}

/** @throws the errors of the file system. */
export async function createMediaInputs(media: ReadonlyMap<string, InputFile>): Promise<MediaInputs> {
  // Not to be guessed by the author of a prompt.
  const marker = `darkroom-file-${randomBytes(16).toString('hex')}`;
  const files: { readonly path: string; readonly byteLength: number }[] = [];
  const values = new Map<string, MediaValue>();
  for (const [fieldPath, { path: file, mimeType }] of media) {
    const byteLength = (await stat(file)).size;
    const base64 = `${marker}-${String(files.length).padStart(4, '0')}`;
    const name = `${fieldPath.replaceAll('.', '-')}.${extensionFor(mimeType)}`;
    values.set(fieldPath, { mimeType, name, byteLength, base64, dataUrl: `data:${mimeType};base64,${base64}` });
    files.push({ path: path.resolve(file), byteLength });
  }

  return {
    values,
    hasMarker: (text) => text.includes(marker),
    bodyOf(value) {
      const text = JSON.stringify(value);
      if (!text.includes(marker)) return jsonBody(value);
      const pieces = text.split(new RegExp(`${marker}-(\\d{4})`)).flatMap((piece, index) => {
        // Every second piece is the number of a file.
        if (index % 2 === 0) return Buffer.from(piece, 'utf8');
        const file = files[Number(piece)];
        return file === undefined ? [] : { byteLength: base64Length(file.byteLength), read: () => base64Of(file.path) };
      });
      const describe = (): BodyDescription => ({
        json: pieces
          .map((piece) => (Buffer.isBuffer(piece) ? piece.toString('utf8') : `<${piece.byteLength} bytes of base64>`))
          .join(''),
      });
      return { ...streamedBody('application/json', pieces), describe };
    },
  };
}

function base64Length(byteLength: number): number {
  return Math.ceil(byteLength / 3) * 4;
}

async function* base64Of(file: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    yield Buffer.from(bytes.subarray(0, whole).toString('base64'), 'latin1');
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1');
}
