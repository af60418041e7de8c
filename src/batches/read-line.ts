/** The body of one line of a batch, for work that continues after the line was fed. */
import type { Queryable } from '../database/database.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import type { ObjectStore } from '../objects/stores/object-store.ts';
import { StoreUnavailableError } from '../objects/stores/store-unavailable-error.ts';
import { readOwner } from '../objects/stores/store-owner.ts';
import { readBatch } from './batch-record.ts';
import type { Batch } from './batch-record.ts';
import { readLines } from './input-lines.ts';
import { InvalidLineError, parseLine } from './line.ts';

interface InputSource {
  readonly database: Queryable;
  readonly store: Pick<ObjectStore, 'read'>;
}

/** Where a line begins in the input. */
interface LinePosition {
  readonly line: number;
  readonly byte: number;
}

interface ReadBody {
  readonly body: unknown;
  /** Those of its line. */
  readonly bytes: number;
}

/**
 * @throws {InvalidLineError} it is no request, or the input is lost. @throws {StoreUnavailableError} the input cannot be
 *   read now.
 */
export async function readLineBody(source: InputSource, batchId: string, from: LinePosition): Promise<ReadBody> {
  const batch = await readBatch(source.database, batchId);
  try {
    return await bodyAt(source, batch, from);
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
    // A store without a mark is not the one that had the file (lost-input.ts).
    const hasOwner = (await readOwner(source.store)) !== undefined;
    throw hasOwner
      ? new InvalidLineError('the input file is no longer in the store', 'input_file_lost')
      : new StoreUnavailableError('read', { cause: error });
  }
}

async function bodyAt({ store }: InputSource, batch: Batch, from: LinePosition): Promise<ReadBody> {
  for await (const line of readLines(store, batch, from)) {
    const { body, problem } = parseLine(line, batch.endpoint);
    if (problem !== undefined) throw problem;
    return { body, bytes: line.bytes?.length ?? 0 };
  }
  throw new InvalidLineError('the input ends before it', 'invalid_json_line');
}
