/**
 * The part of a feed that its transaction does in the batch: with its row locked, the pointer moves over the lines, and
 * those that were rejected are recorded. So an attempt that was overtaken, by another one or by the end of the batch,
 * feeds nothing.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import type { Queryable, Statement } from '../database/database.ts';
import { DarkroomError, factsOf } from '../domain/darkroom-error.ts';
import type { Batch } from './batch-record.ts';
import type { LineResponse } from './context.ts';
import type { InputLine } from './input-lines.ts';

const lockFeeding: Statement = {
  name: 'lock_feeding_batch',
  text: `SELECT id FROM batches
          WHERE id = $1 AND status = 'in_progress' AND problems IS NULL AND expires_at > now() AND lines_fed = $2
            FOR NO KEY UPDATE`,
};
const moveFed: Statement = {
  name: 'move_fed_lines',
  text: 'UPDATE batches SET lines_fed = $2, fed_bytes = $3 WHERE id = $1',
};
const insertRejections: Statement = {
  name: 'insert_batch_rejections',
  text: `INSERT INTO batch_rejections (batch_id, line, response)
         SELECT $1, line, response FROM unnest($2::integer[], $3::jsonb[]) AS r (line, response)
         ON CONFLICT DO NOTHING`,
};

/** Another attempt has fed these lines, or the batch takes no more. */
export class OvertakenError extends Error {}

/** What a feed has come to. */
export interface Fed {
  /** How many lines were fed. */
  readonly lines: number;
  /** Why the next one waits, where it is not for lines before it to end. */
  readonly waitingFor: WaitReason | undefined;
}

/** @returns what a line comes to, or what it waits for. @throws what says nothing about it. */
export function outcomeOf(error: unknown): DarkroomError {
  const isOutcome = error instanceof DarkroomError && factsOf(error.kind).status < 500;
  if (isOutcome || (error instanceof DarkroomError && error.waitsFor !== undefined)) return error;
  throw error;
}

/** A line that is not to become anything. */
export interface Rejection {
  readonly line: number;
  readonly response: LineResponse;
}

/** @throws {OvertakenError} */
export async function lockForFeeding(transaction: Queryable, { id, linesFed }: Batch): Promise<void> {
  const locked = await transaction.query(lockFeeding, [id, linesFed]);
  if (locked.length === 0) throw new OvertakenError('these lines of the batch are no longer to be fed');
}

/** @param last the last line that is fed. */
export async function recordFed(
  transaction: Queryable,
  { id }: Batch,
  last: InputLine,
  rejections: readonly Rejection[],
): Promise<void> {
  await transaction.query(moveFed, [id, last.index + 1, last.endByte]);
  if (rejections.length === 0) return;
  const lines = rejections.map(({ line }) => line);
  await transaction.query(insertRejections, [id, lines, rejections.map(({ response }) => JSON.stringify(response))]);
}
