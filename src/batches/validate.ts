/**
 * Reads the whole input once before the first line is fed: how many lines there are, and whether a `custom_id` occurs
 * twice. A line that is wrong in itself does not end the batch; it is answered when its turn comes.
 */
import { createHash } from 'node:crypto';
import { MAX_BATCH_LINES } from '@darkroom/api/openai/batches';
import type { BatchProblem } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';
import { readLines } from './input-lines.ts';
import { parseLine } from './line.ts';

/** The maximum number of problems that are reported. */
const MAX_PROBLEMS = 100;
/** Lines that are parsed in one turn of the event loop. */
const LINES_IN_A_TURN = 50;

const begin: Statement = {
  name: 'begin_batch',
  text: `UPDATE batches SET status = 'in_progress', in_progress_at = now(), lines_total = $2
          WHERE id = $1 AND status = 'validating'`,
};
const failBatch: Statement = {
  name: 'fail_batch',
  text: `UPDATE batches SET status = 'failed', ended_at = now(), problems = $2
          WHERE id = $1 AND status = 'validating'`,
};

/** Starts a batch, or fails it. One that was cancelled meanwhile is left as it is. */
export async function validateBatch(
  context: Pick<BatchContext, 'database' | 'store' | 'nextTurn'>,
  batch: Batch,
  signal: AbortSignal,
): Promise<void> {
  const result = await inspectLines(context, batch, signal).catch((error: unknown) => {
    if (error instanceof ObjectNotFoundError) return [problem('the input file was deleted', 'file_not_found')];
    throw error;
  });
  if (typeof result === 'number') await context.database.query(begin, [batch.id, result]);
  else await fail(context.database, batch, result);
}

async function fail(database: Queryable, { id }: Batch, problems: readonly BatchProblem[]): Promise<void> {
  await database.query(failBatch, [id, JSON.stringify(problems)]);
}

/** @returns the number of lines, or why there is nothing to do. */
async function inspectLines(
  context: Pick<BatchContext, 'store' | 'nextTurn'>,
  batch: Batch,
  signal: AbortSignal,
): Promise<number | readonly BatchProblem[]> {
  // By their digests: 50,000 of the longest names would be 25 MB.
  const firstLines = new Map<string, number>();
  const problems: BatchProblem[] = [];
  let lines = 0;
  for await (const line of readLines(context.store, batch)) {
    if (lines % LINES_IN_A_TURN === 0) {
      signal.throwIfAborted();
      await context.nextTurn();
    }
    lines += 1;
    if (lines > MAX_BATCH_LINES) {
      return [problem(`the file has more than ${MAX_BATCH_LINES} lines`, 'too_many_lines', 'input_file_id')];
    }
    const { customId } = parseLine(line, batch.endpoint);
    if (customId === null) continue;
    const digest = createHash('sha256').update(customId).digest('base64url').slice(0, 24);
    const first = firstLines.get(digest);
    if (first === undefined) firstLines.set(digest, lines);
    else if (problems.length < MAX_PROBLEMS) {
      const message = `the custom_id of line ${lines} is that of line ${first}; each must be unique in its file`;
      problems.push(problem(message, 'duplicate_custom_id', 'custom_id', lines));
    }
  }
  if (lines === 0) return [problem('the file has no lines', 'empty_file', 'input_file_id')];
  return problems.length > 0 ? problems : lines;
}

function problem(message: string, code: string, param: string | null = null, line: number | null = null): BatchProblem {
  return { code, message, param, line };
}
