/**
 * The lines of a batch in parts, for a feed that takes some of them several times a second: one stream stays open in
 * between, because each range that is requested anew and broken off costs an object store a connection.
 */
import type { ObjectStore } from '../objects/stores/object-store.ts';
import type { Batch } from './batch-record.ts';
import { readLines } from './input-lines.ts';
import type { InputLine } from './input-lines.ts';

/** A position in the input: a line, and where it begins. */
interface Position {
  readonly line: number;
  readonly byte: number;
}

export interface LineSource {
  /** @returns the next lines from a position on; fewer where there are no more, or they are large. */
  take(from: Position, lines: number, bytes: number): Promise<readonly InputLine[]>;
  close(): Promise<void>;
}

export function createLineSource(
  store: Pick<ObjectStore, 'read'>,
  batch: Pick<Batch, 'inputObjectKey' | 'inputBytes'>,
): LineSource {
  let reading: ReturnType<typeof readLines> | undefined;
  let position: Position = { line: 0, byte: 0 };

  const close = async (): Promise<void> => {
    await reading?.return();
    reading = undefined;
  };

  return {
    close,
    async take(from, lines, bytes) {
      // What was taken is not always fed, and another process may have fed what follows.
      if (from.line !== position.line || from.byte !== position.byte) await close();
      reading ??= readLines(store, batch, from);
      const taken: InputLine[] = [];
      let size = 0;
      try {
        while (taken.length < lines && size < bytes) {
          const { value, done } = await reading.next();
          if (done === true) break;
          taken.push(value);
          size += value.bytes?.length ?? 0;
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
