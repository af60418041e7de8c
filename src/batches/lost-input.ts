/**
 * A batch whose input file has vanished from the store: its lines in progress end, and then it fails with the results
 * that there are. Without the input, a line is known by its number alone.
 */
import type { BatchProblem } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import { readOwner } from '../objects/stores/claimed-store.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';

const markLost: Statement = {
  name: 'mark_input_of_batch_lost',
  text: 'UPDATE batches SET problems = $2 WHERE id = $1 AND problems IS NULL AND ended_at IS NULL',
};

/** Whether an error means that. A store without the mark of this installation is not the one that had the file. */
export async function isInputLost(
  { store, installationId }: Pick<BatchContext, 'store' | 'installationId'>,
  error: unknown,
): Promise<boolean> {
  return error instanceof ObjectNotFoundError && (await readOwner(store)) === installationId;
}

export async function markInputLost(database: Queryable, { id }: Batch): Promise<void> {
  const problem: BatchProblem = {
    code: 'input_file_lost',
    message:
      'the input file is no longer in the store; in the files with the results, custom_id is null, and id ends with the number of the line',
    param: null,
    line: null,
  };
  await database.query(markLost, [id, JSON.stringify([problem])]);
}
