/** The body of a request to an upstream: bytes or a stream of a known length, because not every server takes chunks. */
import type { Readable } from 'node:stream';

export interface RequestBody {
  readonly contentType: string;
  /** A stream can be sent once, and is destroyed if it is not sent to its end. */
  readonly body: Buffer | Readable;
  readonly byteLength: number;
}

/** @param value anything that has a JSON form. */
export function jsonBody(value: unknown): RequestBody {
  const body = Buffer.from(JSON.stringify(value), 'utf8');
  return { contentType: 'application/json', body, byteLength: body.length };
}

/** Gives a body up that will not be sent. */
export function discardBody(content: RequestBody | undefined): void {
  if (content !== undefined && !Buffer.isBuffer(content.body)) content.body.destroy();
}
