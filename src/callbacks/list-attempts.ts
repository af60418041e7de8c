/**
 * The callback attempts of an account, across all its tasks, newest first (`GET /account/callbacks`). `attempts.ts`
 * writes them.
 *
 * An attempt's position is its start time and its task: the attempts of one task are sequential. A filter that matches
 * little would scan the whole history; so one response scans a limited number of attempts and returns where it
 * stopped.
 */
import type { Queryable, Statement } from '../database/database.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import type { CallbackState } from '@darkroom/api/facts/callback';
import type { RecordedAttempt } from './attempts.ts';

/** The maximum number of attempts that one filtered response scans. */
export const WALKED_ATTEMPTS = 2_000;

/** An attempt's position among those of its account. */
export interface AttemptPosition {
  /** When it started, in microseconds since 1970: PostgreSQL's precision. */
  readonly createdMicros: bigint;
  /** The id of the task. */
  readonly id: string;
}

export interface AttemptListRequest {
  readonly accountId: string;
  /** Only attempts for callbacks that are in one of these states now; absent: all. */
  readonly states?: readonly CallbackState[] | undefined;
  /** Scheme, host and port, as `new URL` formats them; absent: all. */
  readonly origin?: string | undefined;
  /** The list continues after this position. */
  readonly after?: AttemptPosition | undefined;
  readonly size: number;
}

/** An attempt with the callback that it belongs to. */
export interface ListedAttempt extends RecordedAttempt {
  readonly taskId: TaskId;
  /** Empty once erased. */
  readonly url: string;
  readonly state: CallbackState;
}

export interface AttemptList {
  /** At most `size`; fewer, or even none, does not mean that there are no more. */
  readonly attempts: readonly ListedAttempt[];
  /** There may be more after this position. */
  readonly next: AttemptPosition | undefined;
}

const selectAttempts: Statement = {
  name: 'select_attempts_of_account',
  text: `SELECT a.task_id AS "taskId", c.url, c.state, a.attempt,
                floor(extract(epoch FROM a.started_at))::float8 AS at,
                round(extract(epoch FROM a.finished_at - a.started_at) * 1000)::float8 AS "durationMs",
                a.http_status AS "httpStatus", a.error_class AS "errorClass",
                (extract(epoch FROM a.started_at) * 1000000)::bigint AS "createdMicros"
           FROM (SELECT * FROM callback_attempts
                  WHERE account_id = $1
                    AND (started_at, task_id) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::text, ''))
                  ORDER BY started_at DESC, task_id DESC LIMIT $4) a
           JOIN callbacks c ON c.task_id = a.task_id
          ORDER BY a.started_at DESC, a.task_id DESC`,
};

type AttemptRow = ListedAttempt & { readonly createdMicros: bigint };

export async function listAttempts(database: Queryable, request: AttemptListRequest): Promise<AttemptList> {
  const { accountId, states, origin, after, size } = request;
  const isFiltered = states !== undefined || origin !== undefined;
  const walked = isFiltered ? WALKED_ATTEMPTS : size + 1;
  const rows = await database.query<AttemptRow>(selectAttempts, [
    accountId,
    after === undefined ? null : timestamp(after.createdMicros),
    after?.id ?? null,
    walked,
  ]);
  const matching = rows.filter(
    (row) =>
      (states === undefined || states.includes(row.state)) && (origin === undefined || originOf(row.url) === origin),
  );
  const shown = matching.slice(0, size);
  const last = matching.length > size ? shown.at(-1) : rows.length === walked ? rows.at(-1) : undefined;
  return {
    attempts: shown,
    next: last === undefined ? undefined : { createdMicros: last.createdMicros, id: last.taskId },
  };
}

/** @param url of a callback. @returns undefined if it was erased. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Formats a time for PostgreSQL, including its microseconds. */
function timestamp(micros: bigint): string {
  const milliseconds = new Date(Number(micros / 1_000n)).toISOString().slice(0, -1);
  return `${milliseconds}${String(micros % 1_000n).padStart(3, '0')}Z`;
}
