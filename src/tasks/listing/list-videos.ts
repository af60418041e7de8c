/**
 * An account's tasks of video models, as OpenAI's clients list them: after an id, in either order. Erased ones are
 * deleted videos. The list costs what it shows: of each model, its own index is walked no further than a page.
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { TASK_DETAIL_COLUMNS, detailOf } from '../record/read.ts';
import type { TaskDetail, TaskRow } from '../record/read.ts';

export type VideoOrder = 'asc' | 'desc';

export interface VideoListRequest {
  readonly accountId: string;
  /** Full names of video models, and the hashes of their definitions: a name may have been another model's before. */
  readonly models: readonly string[];
  readonly definitionHashes: readonly string[];
  /** The list begins after this task; default: at its start. */
  readonly after?: TaskId | undefined;
  readonly order: VideoOrder;
  readonly limit: number;
}

export interface VideoTasks {
  readonly tasks: readonly TaskDetail[];
  readonly hasMore: boolean;
}

const selectPosition: Statement = {
  name: 'select_position_of_task',
  text: 'SELECT created_at::text AS "createdAt" FROM tasks WHERE id = $1 AND account_id = $2',
};

/** The index by model is ordered newest first, with nulls last; the other way round they come first. */
const ORDERS = {
  desc: { direction: 'DESC', nulls: 'LAST', beyond: '<', start: 'infinity' },
  asc: { direction: 'ASC', nulls: 'FIRST', beyond: '>', start: '-infinity' },
} as const;

function listStatement(order: VideoOrder): Statement {
  const { direction, nulls, beyond } = ORDERS[order];
  return {
    name: `list_videos_${order}`,
    text: `SELECT d.*
             FROM (SELECT v.id, v.created_at
                     FROM unnest($2::text[]) AS m (model)
                    CROSS JOIN LATERAL (
                          SELECT t.id, t.created_at FROM tasks t
                           WHERE t.account_id = $1 AND t.model = m.model
                             AND (t.created_at, t.id) ${beyond} ($4::timestamptz, $5::text)
                             AND t.definition_hash = ANY ($3::text[]) AND t.erased_at IS NULL
                           ORDER BY t.created_at ${direction} NULLS ${nulls}, t.id ${direction} NULLS ${nulls}
                           LIMIT $6) v
                    ORDER BY v.created_at ${direction}, v.id ${direction} LIMIT $6) p
            CROSS JOIN LATERAL (SELECT ${TASK_DETAIL_COLUMNS} FROM tasks t WHERE t.id = p.id LIMIT 1) d
            ORDER BY p.created_at ${direction}, p.id ${direction}`,
  };
}

const STATEMENTS = { desc: listStatement('desc'), asc: listStatement('asc') } as const;

/** @returns undefined: the account has no task `after`. */
export async function listVideos(database: Queryable, request: VideoListRequest): Promise<VideoTasks | undefined> {
  const { accountId, models, definitionHashes, after, order, limit } = request;
  let start: string = ORDERS[order].start;
  if (after !== undefined) {
    const [position] = await database.query<{ createdAt: string }>(selectPosition, [after, accountId]);
    if (position === undefined) return undefined;
    start = position.createdAt;
  }
  const values = [accountId, models, definitionHashes, start, after ?? '', limit + 1];
  const rows = await database.query<TaskRow>(STATEMENTS[order], values);
  return { tasks: rows.slice(0, limit).map((row) => detailOf(row)), hasMore: rows.length > limit };
}

/** What a video shows of its task beside the detail. */
export interface VideoRecord {
  /** What was sent and what was made is gone for good: the video is deleted. */
  readonly isErased: boolean;
  /** The requested members of the input; null: it was erased. */
  readonly input: Readonly<Record<string, unknown>> | null;
}

const selectRecords: Statement = {
  name: 'select_video_records',
  text: `SELECT t.id, t.erased_at IS NOT NULL AS "isErased",
                CASE WHEN t.input IS NOT NULL THEN coalesce(
                  (SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(t.input) e WHERE e.key = ANY ($3::text[])),
                  '{}') END AS input
           FROM tasks t WHERE t.id = ANY ($1::text[]) AND t.account_id = $2`,
};

/** @param members of the inputs: whole inputs may be large. */
export async function readVideoRecords(
  database: Queryable,
  accountId: string,
  taskIds: readonly TaskId[],
  members: readonly string[],
): Promise<ReadonlyMap<TaskId, VideoRecord>> {
  const rows = await database.query<VideoRecord & { id: TaskId }>(selectRecords, [taskIds, accountId, members]);
  return new Map(rows.map(({ id, ...record }) => [id, record]));
}
