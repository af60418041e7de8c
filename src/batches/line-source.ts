/**
 * The lines of a batch in parts, for a feed that takes some of them several times a second: one stream stays open in
 * between, because each range that is requested anew and broken off costs an object store a connection.
 */
import type { Batch } from './batch-record.ts';
import { memoryOf, readLines } from './input-lines.ts';
import type { InputLine, LinePosition, LineReading } from './input-lines.ts';

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
