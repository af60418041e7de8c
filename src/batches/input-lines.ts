/**
 * The lines of a batch's input, read as a stream from any line on: one of at most 200 MB is never whole in memory.
 * Empty lines do not count.
 */
import type { ObjectStore } from '../objects/stores/object-store.ts';
import type { Batch } from './batch-record.ts';

/** The maximum size of a line: that of the body of a create. */
export const MAX_LINE_BYTES = 10_000_000;

const LINE_FEED = 0x0a;
/** What JSON may have around a value. */
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0d || byte === 0x09;

export interface InputLine {
  /** From 0. */
  readonly index: number;
  /** Undefined: it is larger than a line may be. */
  readonly bytes: Buffer | undefined;
  /** Where it begins, or an empty line before it. */
  readonly beginByte: number;
  /** Where the next line begins. */
  readonly endByte: number;
}

/** @param from the line to begin with, and where it begins. */
export async function* readLines(
  store: Pick<ObjectStore, 'read'>,
  { inputObjectKey, inputBytes }: Pick<Batch, 'inputObjectKey' | 'inputBytes'>,
  from: { readonly line: number; readonly byte: number } = { line: 0, byte: 0 },
): AsyncGenerator<InputLine, void, undefined> {
  if (from.byte >= inputBytes) return;
  const stream = await store.read(inputObjectKey, { start: from.byte, end: inputBytes - 1 });
  let index = from.line;
  let begin = from.byte;
  let position = from.byte;
  let parts: Buffer[] = [];
  let size = 0;
  const take = (part: Buffer): void => {
    size += part.length;
    position += part.length;
    if (size <= MAX_LINE_BYTES) parts.push(part);
    else parts = [];
  };
  const end = (): InputLine | undefined => {
    const bytes = size <= MAX_LINE_BYTES ? Buffer.concat(parts) : undefined;
    parts = [];
    size = 0;
    if (bytes?.every(isSpace) === true) return undefined;
    const beginByte = begin;
    begin = position;
    return { index: index++, bytes, beginByte, endByte: position };
  };
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let rest = chunk;
      for (let at = rest.indexOf(LINE_FEED); at >= 0; at = rest.indexOf(LINE_FEED)) {
        take(rest.subarray(0, at));
        position += 1;
        rest = rest.subarray(at + 1);
        const line = end();
        if (line !== undefined) yield line;
      }
      take(rest);
    }
    const last = end();
    if (last !== undefined) yield last;
  } finally {
    stream.destroy();
  }
}
