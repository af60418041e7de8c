/**
 * The inputs of tasks as they were stored, and the objects of ours that they refer to, uploads and outputs alike, and
 * whether an open task still needs one: its bytes are kept that long, whatever becomes of the upload or the output
 * itself (contract §7 "Uploads").
 */
import type { Queryable, Statement } from '../../database/database.ts';
import { findUploads, isFileId } from '../../objects/uploads.ts';
import { findOutputObjects } from '../../objects/outputs/outputs.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { missingTask } from './read.ts';

/** An object by the id of the upload or output that it belongs to. */
export interface InputObject {
  readonly id: string;
  readonly accountId: string;
  readonly objectKey: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Null: it has none, or it could not be measured. */
  readonly durationSeconds: number | null;
  /** Lower-case hex. */
  readonly sha256: string;
  /** No longer available, except to the tasks that were created with it. */
  readonly isGone: boolean;
}

/**
 * Objects by their ids, `file_…`, `file-…` and `out_…`; unknown ids are missing. Queries only the kinds that are among
 * them.
 */
export async function findInputObjects(
  database: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, InputObject>> {
  const unique = [...new Set(ids)];
  const uploads = unique.filter(isFileId);
  const outputs = unique.filter((id) => id.startsWith('out_'));
  const found = [...(await findUploads(database, uploads)), ...(await findOutputObjects(database, outputs))];
  return new Map(found.map((object) => [object.id, object]));
}

const selectPin: Statement = {
  name: 'select_open_pin',
  text: `SELECT i.task_id FROM task_inputs i JOIN tasks t ON t.id = i.task_id
          WHERE i.object_key = $1 AND t.completed_at IS NULL LIMIT 1`,
};

/** Whether a task that has not ended was created with this object. */
export async function isPinned(database: Queryable, objectKey: string): Promise<boolean> {
  return (await database.query(selectPin, [objectKey])).length > 0;
}

type StoredInput = Readonly<Record<string, unknown>>;

const selectInput: Statement = {
  name: 'select_task_input',
  text: 'SELECT input FROM tasks WHERE id = $1 AND account_id = $2',
};

/**
 * A task's input: read only where it is requested, because it can be large (contract §4 `include=input`).
 *
 * @returns null once it was erased.
 * @throws {TaskNotFoundError} unknown, or another account's. @throws {TaskPrunedError}
 */
export async function readTaskInput(
  database: Queryable,
  taskId: TaskId,
  accountId: string,
): Promise<StoredInput | null> {
  const [row] = await database.query<{ input: StoredInput | null }>(selectInput, [taskId, accountId]);
  if (row === undefined) throw await missingTask(database, taskId, accountId);
  return row.input;
}
