/**
 * Counts the lines that have ended: the pointer moves over a line once, in the statement that counts it, so that every
 * line is counted once whatever runs twice. Those that ended ahead of an earlier one are counted anew each time.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { taskIdForKey } from '../domain/ids.ts';
import type { Batch } from './batch-record.ts';
import { lineKey } from './line.ts';

/** The maximum number of lines between the first one that has not ended and the last one that was fed. */
export const WINDOW_LINES = 1_000;

const selectLines: Statement = {
  name: 'select_states_of_lines',
  text: `SELECT coalesce(t.status, CASE WHEN r.line IS NULL THEN NULL ELSE 'fail' END) AS status
           FROM unnest($2::text[]) WITH ORDINALITY AS wanted (id, position)
           LEFT JOIN tasks t ON t.id = wanted.id
           LEFT JOIN batch_rejections r ON t.id IS NULL AND r.batch_id = $1 AND r.line = $3 + wanted.position - 1
          ORDER BY wanted.position`,
};
const moveSettled: Statement = {
  name: 'move_settled_lines',
  text: `UPDATE batches SET lines_settled = $2 + $3 + $4, lines_completed = lines_completed + $3,
                            lines_failed = lines_failed + $4, ahead_completed = $5, ahead_failed = $6
          WHERE id = $1 AND lines_settled = $2`,
};

/** @returns how many lines that were fed have not ended. */
export async function settleLines(database: Queryable, installationId: string, batch: Batch): Promise<number> {
  const { id, accountId, linesSettled, linesFed } = batch;
  if (linesSettled === linesFed) return 0;
  const ids = Array.from({ length: linesFed - linesSettled }, (_, offset) =>
    taskIdForKey(installationId, accountId, lineKey(id, linesSettled + offset)),
  );
  const rows = await database.query<LineState>(selectLines, [id, ids, linesSettled]);
  const firstOpen = rows.findIndex((row) => !hasEnded(row));
  const first = countEnded(firstOpen < 0 ? rows : rows.slice(0, firstOpen));
  const ahead = countEnded(firstOpen < 0 ? [] : rows.slice(firstOpen));
  const hasMoved = first.completed + first.failed > 0;
  if (hasMoved || ahead.completed !== batch.aheadCompleted || ahead.failed !== batch.aheadFailed) {
    const counts = [first.completed, first.failed, ahead.completed, ahead.failed];
    await database.query(moveSettled, [id, linesSettled, ...counts]);
  }
  return rows.filter((row) => !hasEnded(row)).length;
}

interface LineState {
  readonly status: string | null;
}

function hasEnded({ status }: LineState): boolean {
  return status === 'success' || status === 'fail';
}

function countEnded(rows: readonly LineState[]): { readonly completed: number; readonly failed: number } {
  const ended = rows.filter(hasEnded);
  const completed = ended.filter(({ status }) => status === 'success').length;
  return { completed, failed: ended.length - completed };
}
