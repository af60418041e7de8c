/**
 * Reads the whole input once before the first line is fed: how many lines there are, which model they name, and whether
 * a `custom_id` occurs twice. A line that is wrong in itself does not end the batch; it is answered when its turn comes.
 */
import { createHash } from 'node:crypto';
import { MAX_BATCH_LINES } from '@darkroom/api/openai/batches';
import type { BatchProblem } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { isRecord } from '../domain/json.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';
import { readLines } from './input-lines.ts';
import { withOutline } from './line.ts';
import type { LineParsing } from './line.ts';

/** The maximum number of problems that are reported. */
const MAX_PROBLEMS = 100;
/** With a route, if there is one. */
const MODEL_NAME = /^[\w./:@-]{1,200}$/;

const begin: Statement = {
  name: 'begin_batch',
  text: `UPDATE batches SET status = 'in_progress', in_progress_at = now(), lines_total = $2, model = $3, waiting_for = NULL
          WHERE id = $1 AND status = 'validating'`,
};
const stopWaiting: Statement = {
  name: 'stop_waiting_of_batch',
  text: 'UPDATE batches SET waiting_for = NULL WHERE id = $1',
};
const failBatch: Statement = {
  name: 'fail_batch',
  text: `UPDATE batches SET status = 'failed', ended_at = now(), problems = $2
          WHERE id = $1 AND status = 'validating'`,
};

/** Starts a batch, or fails it. One that was cancelled meanwhile is left as it is. */
export async function validateBatch(
  context: LineParsing & Pick<BatchContext, 'database'>,
  batch: Batch,
  signal: AbortSignal,
): Promise<void> {
  const result = await inspectLines(context, batch, signal).catch((error: unknown) => {
    if (error instanceof ObjectNotFoundError) return [problem('the input file was deleted', 'file_not_found')];
    throw error;
  });
  if ('lines' in result) await context.database.query(begin, [batch.id, result.lines, result.model ?? null]);
  else await fail(context.database, batch, result);
}

async function fail(database: Queryable, { id }: Batch, problems: readonly BatchProblem[]): Promise<void> {
  await database.query(failBatch, [id, JSON.stringify(problems)]);
}

/** What is known of lines that may be fed. */
interface Inspected {
  readonly lines: number;
  /** The model that all of them name. */
  readonly model: string | undefined;
}

/** @returns why there is nothing to do, if there is not. */
async function inspectLines(
  context: LineParsing & Pick<BatchContext, 'database'>,
  batch: Batch,
  signal: AbortSignal,
): Promise<Inspected | readonly BatchProblem[]> {
  // By their digests: 50,000 of the longest names would be 25 MB.
  const firstLines = new Map<string, number>();
  const problems: BatchProblem[] = [];
  const models = new Set<string | undefined>();
  let lines = 0;
  for await (const line of readLines(context, batch, signal)) {
    lines += 1;
    // The store is back.
    if (lines === 1 && batch.waitingFor !== null) await context.database.query(stopWaiting, [batch.id]);
    if (lines > MAX_BATCH_LINES) {
      return [problem(`the file has more than ${MAX_BATCH_LINES} lines`, 'too_many_lines', 'input_file_id')];
    }
    // Of a large line nothing else is kept.
    const { customId, model } = await withOutline(context, batch, line, signal, (parsed) => ({
      customId: parsed.customId,
      model: modelOf(parsed.body),
    }));
    if (models.size <= 1) models.add(model);
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
  if (problems.length > 0) return problems;
  return { lines, model: models.size === 1 ? [...models][0] : undefined };
}

/** The model that a line names, if that can be the name of one. */
function modelOf(body: unknown): string | undefined {
  const name = isRecord(body) ? body['model'] : undefined;
  return typeof name === 'string' && MODEL_NAME.test(name) ? name : undefined;
}

function problem(message: string, code: string, param: string | null = null, line: number | null = null): BatchProblem {
  return { code, message, param, line };
}
