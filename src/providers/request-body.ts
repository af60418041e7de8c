/** The body of a request to an upstream: bytes or a stream of a known length, because not every server takes chunks. */
import { Readable } from 'node:stream';

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
