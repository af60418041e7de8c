/** The tasks of all accounts, for operators: how they ended, where and why, and nothing of what they are about. */
import type { Queryable } from '../../database/database.ts';
import { readNewestFirst } from '../../database/newest-first.ts';
import type { NewestFirst, NewestPage } from '../../database/newest-first.ts';
import { TERMINAL_STATUSES } from '@darkroom/api/facts/task-status';
import type { TaskStatus } from '@darkroom/api/facts/task-status';

/** Which work is listed, and from where on. All filters have to match; undefined: any. */
export type WorkQuery<Status> = Pick<NewestFirst, 'from' | 'before' | 'after' | 'size'> & {
  readonly statuses?: readonly Status[] | undefined;
  readonly model?: string | undefined;
  /** As in records and metrics, or as in the timeline of a task. */
  readonly upstream?: string | undefined;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  /** The end user: of tasks the metadata `user`. */
  readonly user?: string | undefined;
  /** Why it failed. */
  readonly reason?: string | undefined;
};

/** A task or a text call as operators list it. */
export interface ListedWork<Status> {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly status: Status;
  readonly reason: string | null;
  /** Which had it, or rejected it last. */
  readonly upstream: string | null;
  readonly createdAt: Date;
  /** Null: not yet. */
  readonly endedAt: Date | null;
  readonly heldMicroUsd: bigint;
  readonly capturedMicroUsd: bigint | null;
}

/** SQL over a task `t`. */
const UPSTREAM = `coalesce((SELECT g.upstream FROM generations g WHERE g.task_id = t.id),
  (SELECT e.detail->>'upstream' FROM task_events e
    WHERE e.task_id = t.id AND e.detail->>'upstream' IS NOT NULL ORDER BY e.seq DESC LIMIT 1))`;

const COLUMNS = `t.account_id AS "accountId", t.key_id AS "keyId", t.model, t.status, t.error_reason AS reason,
  ${UPSTREAM} AS upstream, t.created_at AS "createdAt", t.completed_at AS "endedAt",
  t.held_micro_usd AS "heldMicroUsd", t.captured_micro_usd AS "capturedMicroUsd"`;

const MATCHES = `($1::text[] IS NULL OR t.status = ANY ($1)) AND ($2::text IS NULL OR t.model = $2)
  AND ($3::text IS NULL OR t.error_reason = $3) AND ($5::text IS NULL OR t.account_id = $5)
  AND ($4::text IS NULL OR ${UPSTREAM} = $4) AND ($6::text IS NULL OR t.key_id = $6)
  AND ($7::text IS NULL OR EXISTS (
        SELECT FROM task_metadata m
         WHERE m.account_id = t.account_id AND m.pair = metadata_pair('user', $7) AND m.created_at = t.created_at
           AND m.task_id = t.id))`;

/** Lists tasks of all accounts, newest first. */
export function listAllTasks(
  database: Queryable,
  { statuses, model, upstream, accountId, keyId, user, reason, ...page }: WorkQuery<TaskStatus>,
): Promise<NewestPage<ListedWork<TaskStatus>>> {
  const isFailed = reason !== undefined || (statuses?.every((status) => status === 'fail') ?? false);
  const isOpen = statuses?.every((status) => !TERMINAL_STATUSES.some((terminal) => terminal === status)) ?? false;
  // The conditions of an index each.
  const [name, condition] =
    accountId !== undefined
      ? ['tasks_of_account', 't.account_id = $5']
      : keyId !== undefined
        ? ['tasks_of_key', 't.account_id = (SELECT account_id FROM api_keys WHERE id = $6)']
        : isFailed
          ? ['failed_tasks', `t.status = 'fail'`]
          : isOpen
            ? ['open_tasks', 't.completed_at IS NULL']
            : ['tasks', 'true'];
  return readNewestFirst(database, {
    ...page,
    name,
    scanned: `FROM tasks t WHERE ${condition}`,
    columns: COLUMNS,
    matches: MATCHES,
    values: [statuses, model, reason, upstream, accountId, keyId, user].map((value) => value ?? null),
  });
}
