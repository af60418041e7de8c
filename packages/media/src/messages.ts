/**
 * How a process of ours and its media child communicate over pipes: messages of JSON or of raw bytes, each
 * after five bytes that state its kind and length. Frames and samples are far too large for Node's own message
 * channel, which serialises them.
 */

/** One message: a small JSON object, or pixels and samples as they lie in memory. */
export type MediaMessage =
  | { readonly kind: 'json'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

/** Fills a buffer from the other side. @returns false: the other side has closed, and the buffer is not filled. */
export type ReadInto = (target: Buffer) => Promise<boolean>;

const HEADER_BYTES = 5;
const JSON_MESSAGE = 1;
const BYTES_MESSAGE = 2;

/** JSON is a request or a response of some lines; pixels end at the largest image, 8192 x 8192 (decode.ts). */
const MAX_LENGTH: Readonly<Record<number, number>> = { [JSON_MESSAGE]: 64 * 1024, [BYTES_MESSAGE]: 8192 * 8192 * 4 };

function encodeHeader(kind: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES);
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32LE(length, 1);
  return bytes;
}

/** Encodes a JSON message with its header. */
export function encodeJson(value: Readonly<Record<string, unknown>>): Buffer {
  const text = Buffer.from(JSON.stringify(value));
  return Buffer.concat([encodeHeader(JSON_MESSAGE, text.length), text]);
}

/** The header of a message of `length` bytes. */
export function encodeBytesHeader(length: number): Buffer {
  return encodeHeader(BYTES_MESSAGE, length);
}

/**
 * Reads the next message.
 *
 * @param bufferFor where the bytes of a message go; a new buffer if omitted.
 * @returns undefined: the other side has closed.
 * @throws {RangeError} what arrived is not a message.
 */
export async function readMessage(
  readInto: ReadInto,
  bufferFor: (length: number) => Buffer = (length) => Buffer.allocUnsafeSlow(length),
): Promise<MediaMessage | undefined> {
  const head = Buffer.allocUnsafe(HEADER_BYTES);
  if (!(await readInto(head))) return undefined;
  const [kind, length] = [head.readUInt8(0), head.readUInt32LE(1)];
  const limit = MAX_LENGTH[kind];
  if (limit === undefined || length > limit) throw new RangeError('not a message of a media child');
  const bytes = kind === JSON_MESSAGE ? Buffer.allocUnsafe(length) : bufferFor(length);
  if (!(await readInto(bytes))) return undefined;
  if (kind === BYTES_MESSAGE) return { kind: 'bytes', bytes };
  return { kind: 'json', value: JSON.parse(bytes.toString()) as Record<string, unknown> };
}
