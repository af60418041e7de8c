/**
 * The lines of a batch's input, read as a stream from any line on: one of at most 200 MB is never whole in memory, and
 * neither is a large line, whose borders are found here and which is read by itself once there is room for it. What is
 * between lines does not count: line feeds, and what JSON may have around a value.
 *
 * Every byte is looked at once and at the same cost, whatever it is, and in turns by bytes: what is read, and the lines
 * that a caller processes.
 */
import type { ObjectStore } from '../objects/stores/object-store.ts';
import type { Batch } from './batch-record.ts';

/** The maximum size of a line: that of the body of a create. */
export const MAX_LINE_BYTES = 10_000_000;
/** A larger line is not kept while it is read. */
const KEPT_LINE_BYTES = 128_000;
/** The bytes that are read in one turn of the event loop, some milliseconds at most, and what a line counts on top. */
const BYTES_IN_A_TURN = 256_000;
const BYTES_PER_LINE = 2_000;

const LINE_FEED = 0x0a;
const isBetweenLines = (byte: number | undefined): boolean =>
  byte === LINE_FEED || byte === 0x0d || byte === 0x20 || byte === 0x09;

export interface InputLine {
  /** From 0. */
  readonly index: number;
  /** Where it begins. */
  readonly beginByte: number;
  readonly sizeBytes: number;
  /** Where the next line may begin. */
  readonly endByte: number;
  /** Undefined: it is large, and `readLine` reads it. */
  readonly bytes: Buffer | undefined;
}

/** The bytes of memory that lines take when they are parsed. */
export function memoryOf(lines: readonly Pick<InputLine, 'sizeBytes'>[]): number {
  return lines.reduce((sum, { sizeBytes }) => sum + (sizeBytes > MAX_LINE_BYTES ? 0 : sizeBytes), 0);
}

/** A position in the input: a line, and where it begins, or what is before it. */
export interface LinePosition {
  readonly line: number;
  readonly byte: number;
}

/** What reading needs. */
export interface LineReading {
  readonly store: Pick<ObjectStore, 'read'>;
  /** Awaited between pieces of the work (limits/turns.ts). */
  nextTurn(): Promise<void>;
}

type Input = Pick<Batch, 'inputObjectKey' | 'inputBytes'>;

/** @param from where to begin. @param signal ends the reading with its reason. */
export async function* readLines(
  reading: LineReading,
  input: Input,
  signal: AbortSignal,
  from: LinePosition = { line: 0, byte: 0 },
): AsyncGenerator<InputLine, void, undefined> {
  let index = from.line;
  let begin: number | undefined;
  let kept: Buffer[] = [];
  let size = 0;
  let work = 0;
  const end = (endByte: number): InputLine => {
    const bytes = size <= KEPT_LINE_BYTES ? Buffer.concat(kept) : undefined;
    const line = { index: index++, beginByte: begin ?? endByte, sizeBytes: size, endByte, bytes };
    begin = undefined;
    kept = [];
    size = 0;
    return line;
  };
  const takeTurn = async (done: number): Promise<void> => {
    work += done;
    if (work < BYTES_IN_A_TURN) return;
    work = 0;
    await reading.nextTurn();
    signal.throwIfAborted();
  };
  for await (const { chunk, position } of piecesOf(reading, input, from.byte, input.inputBytes)) {
    await takeTurn(chunk.length);
    for (let at = 0; at < chunk.length;) {
      if (begin === undefined) {
        while (isBetweenLines(chunk[at])) at += 1;
        if (at === chunk.length) break;
        begin = position + at;
      }
      const feed = chunk.indexOf(LINE_FEED, at);
      const part = chunk.subarray(at, feed < 0 ? chunk.length : feed);
      size += part.length;
      if (size <= KEPT_LINE_BYTES) kept.push(part);
      else kept = [];
      if (feed < 0) break;
      at = feed + 1;
      yield end(position + at);
      await takeTurn(BYTES_PER_LINE);
    }
  }
  if (begin !== undefined) yield end(input.inputBytes);
}

/**
 * Reads one line, in memory of its own, which can be transferred to a thread. Its caller has reserved it.
 *
 * @param onPart called with each part as it arrives.
 */
export async function readLine(
  reading: LineReading,
  input: Input,
  { beginByte, sizeBytes, bytes }: Pick<InputLine, 'beginByte' | 'sizeBytes' | 'bytes'>,
  signal: AbortSignal,
  onPart: (part: Buffer) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(sizeBytes);
  if (bytes !== undefined) {
    onPart(bytes);
    whole.set(bytes);
    return whole;
  }
  let work = 0;
  for await (const { chunk, position } of piecesOf(reading, input, beginByte, beginByte + sizeBytes)) {
    onPart(chunk);
    whole.set(chunk, position - beginByte);
    work += chunk.length;
    if (work < BYTES_IN_A_TURN) continue;
    work = 0;
    await reading.nextTurn();
    signal.throwIfAborted();
  }
  return whole;
}

interface Piece {
  readonly chunk: Buffer;
  /** Where it is in the input. */
  readonly position: number;
}

/** @param to the byte after the last one. */
async function* piecesOf(
  { store }: LineReading,
  { inputObjectKey }: Input,
  from: number,
  to: number,
): AsyncGenerator<Piece, void, undefined> {
  if (from >= to) return;
  const stream = await store.read(inputObjectKey, { start: from, end: to - 1 });
  let position = from;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      yield { chunk, position };
      position += chunk.length;
    }
  } finally {
    stream.destroy();
  }
}

/**
 * The lines of a batch in parts, for a feed that takes some of them several times a second: one stream stays open in
 * between, because each range that is requested anew and broken off costs an object store a connection.
 */
export interface LineSource {
  /**
   * @returns the next lines from a position on: fewer where there are no more, or they have more bytes together; one at
   *   least, if there is one.
   */
  take(from: LinePosition, lines: number, bytes: number): Promise<readonly InputLine[]>;
  close(): Promise<void>;
}

/** @param signal ends the reading. */
export function createLineSource(
  reading: LineReading,
  batch: Pick<Batch, 'inputObjectKey' | 'inputBytes'>,
  signal: AbortSignal,
): LineSource {
  let lines: ReturnType<typeof readLines> | undefined;
  let position: LinePosition = { line: 0, byte: 0 };
  /** One that was read, and did not fit. */
  let next: InputLine | undefined;

  const close = async (): Promise<void> => {
    await lines?.return();
    lines = undefined;
    next = undefined;
  };

  const read = async (): Promise<InputLine | undefined> => {
    const { value } = next === undefined ? await (lines as NonNullable<typeof lines>).next() : { value: next };
    next = undefined;
    return value ?? undefined;
  };

  return {
    close,
    async take(from, most, bytes) {
      // What was taken is not always fed, and another process may have fed what follows.
      if (from.line !== position.line || from.byte !== position.byte) await close();
      lines ??= readLines(reading, batch, signal, from);
      const taken: InputLine[] = [];
      let size = 0;
      try {
        while (taken.length < most) {
          const line = await read();
          if (line === undefined) break;
          size += memoryOf([line]);
          if (taken.length > 0 && size > bytes) {
            next = line;
            break;
          }
          taken.push(line);
        }
      } catch (error) {
        await close();
        throw error;
      }
      const last = taken.at(-1);
      position = last === undefined ? from : { line: last.index + 1, byte: last.endByte };
      return taken;
    },
  };
}
