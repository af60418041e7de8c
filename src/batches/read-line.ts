/** The body of one line of a batch, for work that continues after the line was fed. */
import type { Queryable } from '../database/database.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import { StoreUnavailableError } from '../objects/stores/store-unavailable-error.ts';
import { readOwner } from '../objects/stores/store-owner.ts';
import { readBatch } from './batch-record.ts';
import { memoryOf, readLines } from './input-lines.ts';
import type { LinePosition } from './input-lines.ts';
import { InvalidLineError, parseLine } from './line.ts';
import type { LineParsing, ParsedLine } from './line.ts';

interface InputSource extends LineParsing {
  readonly database: Queryable;
}

/**
 * Reads the body of a line.
 *
 * @param hold takes the memory for so many bytes, before anything of the line is in memory.
 * @throws {InvalidLineError} it is no request, or the input is lost. @throws {StoreUnavailableError} the input cannot be
 *   read now. @throws {ShareExhaustedError} no thread was free for it. @throws what `hold` throws.
 */
export async function readLineBody(
  source: InputSource,
  batchId: string,
  from: LinePosition,
  { signal, hold }: { readonly signal: AbortSignal; readonly hold: (bytes: number) => void },
): Promise<Pick<ParsedLine, 'body' | 'isLarge'>> {
  const batch = await readBatch(source.database, batchId);
  try {
    for await (const line of readLines(source, batch, signal, from)) {
      hold(memoryOf([line]));
      const { body, isLarge, problem } = await parseLine(source, batch, line, 'body', signal);
      if (problem !== undefined) throw problem;
      return { body, isLarge };
    }
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
    // A store without a mark is not the one that had the file (lost-input.ts).
    const hasOwner = (await readOwner(source.store)) !== undefined;
    throw hasOwner
      ? new InvalidLineError('the input file is no longer in the store', 'input_file_lost')
      : new StoreUnavailableError('read', { cause: error });
  }
  throw new InvalidLineError('the input ends before it', 'invalid_json_line');
}
