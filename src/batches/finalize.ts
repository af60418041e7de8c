/** Writes the files of a batch, and ends it in the transaction that records them. */
import { Readable } from 'node:stream';
import type { BatchStatus } from '@darkroom/api/openai/batches';
import { DatabaseUnavailableError } from '../database/database.ts';
import type { Statement } from '../database/database.ts';
import { newId } from '../domain/ids.ts';
import { purposedId } from '../objects/openai-files.ts';
import { deleteCallsOfBatch } from '../text/background/call-record.ts';
import { insertFile, uploadKey } from '../objects/uploads.ts';
import type { NewUpload } from '../objects/uploads.ts';
import type { Batch } from './batch-record.ts';
import type { BatchContext } from './context.ts';
import { resultsOf } from './results.ts';
import type { ResultKind } from './results.ts';

/** How a batch ends that was begun. */
export type BatchEnd = Extract<BatchStatus, 'completed' | 'expired' | 'cancelled' | 'failed'>;

const JSON_LINES = 'application/jsonl';

const DELETED_AT_ONCE = 1_000;

const endBatch: Statement = {
  name: 'end_batch',
  text: `UPDATE batches SET status = $2, ended_at = now(), output_file_id = $3, error_file_id = $4
          WHERE id = $1 AND ended_at IS NULL AND lines_fed = $5 RETURNING id`,
};
const dropRejections: Statement = {
  name: 'drop_batch_rejections',
  text: 'DELETE FROM batch_rejections WHERE batch_id = $1',
};

/**
 * Ends a batch, unless another attempt has ended it, or has fed lines since it was read. A repeated attempt writes other
 * files; only those of the one that ends it are recorded.
 *
 * @param status how it ends.
 */
export async function finalizeBatch(
  context: BatchContext,
  batch: Batch,
  status: BatchEnd,
  signal: AbortSignal,
): Promise<void> {
  const { database, clock } = context;
  const files: NewUpload[] = [];
  try {
    const output = await write(context, batch, 'output', signal);
    if (output !== undefined) files.push(output);
    const errors = await write(context, batch, 'error', signal);
    if (errors !== undefined) files.push(errors);
    const createdAt = (await clock.read()) / 1000;
    const isEnded = await database.transaction(async (transaction) => {
      const fileIds = [output?.id ?? null, errors?.id ?? null];
      const ended = await transaction.query(endBatch, [batch.id, status, ...fileIds, batch.linesFed]);
      if (ended.length === 0) return false;
      const expiresAt = Math.floor(createdAt) + batch.outputKeptSeconds;
      for (const file of files) await insertFile(transaction, file, { createdAt, expiresAt });
      await transaction.query(dropRejections, [batch.id]);
      return true;
    });
    if (isEnded) await deleteCalls(context, batch);
    else await discard(context, files);
  } catch (error) {
    // It is unknown then whether the rows were written: the sweep decides by the rows.
    if (!(error instanceof DatabaseUnavailableError)) await discard(context, files);
    throw error;
  }
}

/** @returns undefined: there is no such line. */
async function write(
  context: BatchContext,
  batch: Batch,
  kind: ResultKind,
  signal: AbortSignal,
): Promise<NewUpload | undefined> {
  if (countOf(batch, kind) === 0) return undefined;
  const id = newId('file');
  const objectKey = uploadKey(id);
  const body = Readable.from(resultsOf(context, batch, kind, signal), { objectMode: false });
  const { sizeBytes, sha256 } = await context.store.put(objectKey, body, { mimeType: JSON_LINES, signal });
  return {
    id: purposedId(id),
    accountId: batch.accountId,
    objectKey,
    mimeType: JSON_LINES,
    sizeBytes,
    sha256,
    purpose: 'batch_output',
    fileName: `${batch.id}_${kind}.jsonl`,
  };
}

/** How many lines a file has. Without the input, those that had no turn are in none. */
function countOf({ problems, linesTotal, linesFed, linesCompleted }: Batch, kind: ResultKind): number {
  if (kind === 'output') return linesCompleted;
  return (problems === null ? linesTotal : linesFed) - linesCompleted;
}

/** Not in the transaction: 50,000 answers take a while to delete. The expiry pass deletes what is left. */
async function deleteCalls({ database, logger, endpoints }: BatchContext, { id, endpoint }: Batch): Promise<void> {
  if (endpoints[endpoint].kind === 'task') return;
  try {
    let deleted = DELETED_AT_ONCE;
    while (deleted === DELETED_AT_ONCE) deleted = await deleteCallsOfBatch(database, id, DELETED_AT_ONCE);
  } catch (error) {
    logger.warn({ err: error, batchId: id }, 'deleting the calls of a batch failed; a later pass will retry');
  }
}

/** The sweep removes what cannot be deleted now. */
async function discard({ store, logger }: BatchContext, files: readonly NewUpload[]): Promise<void> {
  for (const { objectKey } of files) {
    await store.delete(objectKey).catch((error: unknown) => {
      logger.warn({ err: error }, 'deleting a file of a batch failed; the sweep will retry');
    });
  }
}
