/** The tasks and text calls of all accounts, as operators list them. */
import type { WireWorkList, WireWorkListQuery, WorkKind, WorkStatus } from '@darkroom/api/admin/admin-work';
import { TEXT_CALL_STATUSES } from '@darkroom/api/admin/admin-work';
import type { Queryable } from '../database/database.ts';
import type { NewestPage, NewestPosition } from '../database/newest-first.ts';
import { formatUsd } from '../domain/money.ts';
import { TASK_STATUSES } from '../domain/task-status.ts';
import { listAllTasks } from '../tasks/listing/list-of-operators.ts';
import type { ListedWork } from '../tasks/listing/list-of-operators.ts';
import { listAllCalls } from '../text/money/list-calls.ts';
import { secondsOf } from './unix-seconds.ts';

/** The number of entries if a query has none. */
const DEFAULT_SIZE = 50;

/** A status that work of the other kind has. */
export class StatusOfOtherKindError extends Error {
  override readonly name = 'StatusOfOtherKindError';

  constructor(kind: WorkKind, statuses: readonly string[]) {
    super(`status: of kind ${kind}, want ${statuses.join(', ')}`);
  }
}

/**
 * Lists tasks, or text calls, of all accounts, newest first.
 *
 * @throws {StatusOfOtherKindError}
 */
export async function listWork(
  database: Queryable,
  query: Omit<WireWorkListQuery, 'cursor'>,
  after: NewestPosition | undefined,
): Promise<Omit<WireWorkList, 'nextCursor'> & { readonly next: NewestPosition | undefined }> {
  const {
    kind = 'task',
    status: statuses,
    size = DEFAULT_SIZE,
    created_after: from,
    created_before,
    ...filter
  } = query;
  const page = { ...filter, from, before: created_before, after, size };
  const of = <Status extends string>(known: readonly Status[]): readonly Status[] | undefined => {
    const named = statuses?.map((status) => known.find((each) => each === status));
    if (named?.includes(undefined) === true) throw new StatusOfOtherKindError(kind, known);
    return named?.flatMap((status) => status ?? []);
  };
  const { rows, next }: NewestPage<ListedWork<WorkStatus>> =
    kind === 'task'
      ? await listAllTasks(database, { ...page, statuses: of(TASK_STATUSES) })
      : await listAllCalls(database, { ...page, statuses: of(TEXT_CALL_STATUSES) });
  return { currency: 'USD', work: rows.map((row) => presentWork(kind, row)), next };
}

function presentWork(kind: WorkKind, work: ListedWork<WorkStatus>): WireWorkList['work'][number] {
  const { id, accountId, keyId, model, status, reason, upstream, endedAt } = work;
  return {
    kind,
    id,
    accountId,
    keyId,
    model,
    status,
    ...(reason === null ? {} : { reason }),
    ...(upstream === null ? {} : { upstream }),
    created: secondsOf(work.createdAt),
    ended: secondsOf(endedAt ?? undefined),
    held: formatUsd(endedAt === null ? work.heldMicroUsd : 0n),
    captured: formatUsd(work.capturedMicroUsd ?? 0n),
  };
}
