/**
 * A JSON body that contains files in base64, made while it is sent: of all files, only the chunk that is being sent is
 * in memory. Its length is known before, so that a client notices if it breaks off.
 */
import type { Readable } from 'node:stream';

export interface Base64File {
  readonly sizeBytes: number;
  open(): Promise<Readable>;
}

/** A part of the body: JSON text, or a file whose base64 is written in its place. */
export type BodyPart = string | Base64File;

/** The length of the body in bytes. */
export function lengthOf(parts: readonly BodyPart[]): number {
  return parts
    .map((part) => (typeof part === 'string' ? Buffer.byteLength(part) : 4 * Math.ceil(part.sizeBytes / 3)))
    .reduce((sum, length) => sum + length, 0);
}

/** The body in chunks. @throws {Error} a file cannot be read to its end. */
export async function* chunksOf(parts: readonly BodyPart[]): AsyncGenerator<string> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else yield* base64Of(await part.open(), part.sizeBytes);
  }
}

/** Three bytes are four characters: what is left of a chunk is encoded with the next one. */
async function* base64Of(file: Readable, sizeBytes: number): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  let read = 0;
  for await (const chunk of file as AsyncIterable<Buffer>) {
    read += chunk.length;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  if (read !== sizeBytes) throw new Error(`a stored file has ${read} bytes instead of ${sizeBytes}`);
  if (rest.length > 0) yield rest.toString('base64');
}
