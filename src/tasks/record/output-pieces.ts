/**
 * The beginning of a task's file while it is being generated, for a client that receives it meanwhile (contract §10,
 * speech). The worker that receives the file from its provider writes pieces; the api process that the client is
 * connected to reads them. Nothing depends on them: what a client does not get from here it gets from the stored file.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

/** A piece of the file that one attempt receives. */
export interface OutputPiece {
  /** Identifies the attempt: another one may receive a different file. */
  readonly source: string;
  /** The position of its first byte in the file. */
  readonly position: number;
  readonly bytes: Buffer;
}

/** How far a reader has come. */
export interface PieceCursor {
  readonly taskId: string;
  /** Undefined: the reader has no piece yet, and takes those of any attempt. */
  readonly source: string | undefined;
  readonly position: number;
}

const listen: Statement = {
  name: 'listen_to_output',
  text: 'INSERT INTO output_listeners (task_id) VALUES ($1) ON CONFLICT DO NOTHING',
};

/** From here on, pieces of the task's file are recorded. */
export async function listenToOutput(database: Queryable, taskId: TaskId): Promise<void> {
  await database.query(listen, [taskId]);
}

const hasListener: Statement = {
  name: 'output_is_listened_to',
  text: 'SELECT 1 AS found FROM output_listeners WHERE task_id = $1',
};

/** Whether a client receives the file while it is being generated. */
export async function isListenedTo(database: Queryable, taskId: TaskId): Promise<boolean> {
  return (await database.query(hasListener, [taskId])).length > 0;
}

const append: Statement = {
  name: 'append_output_piece',
  text: `INSERT INTO output_pieces (task_id, source, position, bytes) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING`,
};

/** Records a piece. */
export async function appendPiece(
  database: Queryable,
  taskId: TaskId,
  { source, position, bytes }: OutputPiece,
): Promise<void> {
  await database.query(append, [taskId, source, position, bytes]);
}

/** The most pieces of one reader, and of all readers, that are read at once. */
const MAX_PIECES_OF_READER = 8;
const MAX_PIECES = 128;

const readNext: Statement = {
  name: 'read_output_pieces',
  text: `SELECT p.task_id AS "taskId", p.source, p.position::float8 AS position, p.bytes
           FROM unnest($1::text[], $2::text[], $3::bigint[]) AS c (task_id, source, position)
          CROSS JOIN LATERAL (
                SELECT * FROM output_pieces
                 WHERE task_id = c.task_id AND (c.source = '' OR source = c.source) AND position >= c.position
                 ORDER BY source, position LIMIT ${MAX_PIECES_OF_READER}) p
          WHERE EXISTS (SELECT FROM output_pieces)
          ORDER BY p.task_id, p.source, p.position LIMIT ${MAX_PIECES}`,
};

/** Reads what follows the cursors, in the order of the file. Of many cursors, some may have to be read again. */
export function readPieces(
  database: Queryable,
  cursors: readonly PieceCursor[],
): Promise<readonly (OutputPiece & { readonly taskId: string })[]> {
  return database.query<OutputPiece & { taskId: string }>(readNext, [
    cursors.map(({ taskId }) => taskId),
    cursors.map(({ source = '' }) => source),
    cursors.map(({ position }) => position),
  ]);
}

const forget: Statement = {
  name: 'forget_output_pieces',
  text: `WITH listeners AS (DELETE FROM output_listeners WHERE task_id = $1)
         DELETE FROM output_pieces WHERE task_id = $1`,
};

/** The task has ended. Another reader gets the rest from the stored file. */
export async function forgetPieces(database: Queryable, taskId: TaskId): Promise<void> {
  await database.query(forget, [taskId]);
}

const deleteOld: Statement = {
  name: 'delete_old_output_pieces',
  text: `WITH pieces AS (
           DELETE FROM output_pieces
            WHERE (task_id, source, position) IN (
                  SELECT task_id, source, position FROM output_pieces WHERE created_at <= now() - interval '1 hour'
                   ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
            RETURNING 1),
         listeners AS (
           DELETE FROM output_listeners
            WHERE task_id IN (SELECT task_id FROM output_listeners WHERE created_at <= now() - interval '1 day'
                               ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
            RETURNING 1)
         SELECT greatest((SELECT count(*) FROM pieces), (SELECT count(*) FROM listeners))::float8 AS deleted`,
};

/** Deletes what processes left that were killed. Safe to run at any time and twice. @returns how many, at most the limit. */
export async function deleteOldPieces(database: Queryable, limit: number): Promise<number> {
  const [row] = await database.query<{ deleted: number }>(deleteOld, [limit]);
  return row?.deleted ?? 0;
}
