/** The body of one line of a batch, for work that continues after the line was fed. */
import type { Queryable } from '../database/database.ts';
import type { ObjectStore } from '../objects/stores/object-store.ts';
import { readBatch } from './batch-record.ts';
import { readLines } from './input-lines.ts';
import { InvalidLineError, parseLine } from './line.ts';

/** @param from the line, and where it begins in the input. @throws {InvalidLineError} it is no request. */
export async function readLineBody(
  { database, store }: { readonly database: Queryable; readonly store: Pick<ObjectStore, 'read'> },
  batchId: string,
  from: { readonly line: number; readonly byte: number },
): Promise<{ readonly body: unknown; readonly bytes: number }> {
  const batch = await readBatch(database, batchId);
  for await (const line of readLines(store, batch, from)) {
    const { body, problem } = parseLine(line, batch.endpoint);
    if (problem !== undefined) throw problem;
    return { body, bytes: line.bytes?.length ?? 0 };
  }
  throw new InvalidLineError('the input ends before it', 'invalid_json_line');
}
