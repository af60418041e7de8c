/**
 * The list of tasks as the dashboard reads it: by cursor, newest first, each page once however far the user scrolls.
 * Rows stay as they were read, until new tasks are added on top or single ones are read again by their ids.
 */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { WireTaskList } from '@darkroom/api/tasks/task-list';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { api } from './api.ts';

export type Task = WireTask;
export type Output = NonNullable<WireTask['output']>[number];

/** Contract §3 "size 1-100". */
const PAGE_SIZE = 100;
/** The number of tasks requested to check for new ones. */
const NEWEST = 20;
/** More new tasks than this are not added on top: the list is reloaded. */
const MOST_NEW = 500;
const NEW_TASKS_EVERY_MS = 5_000;
const OPEN_TASKS_EVERY_MS = 2_500;
/** A URL is renewed if it expires within this time. */
const URL_MARGIN_SECONDS = 60;

export interface TaskFilter {
  readonly statuses: readonly TaskStatus[];
  /** The full name. */
  readonly model?: string | undefined;
  readonly keyId?: string | undefined;
  /** Unix seconds, both exclusive, as in the API. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The fields of a task that the list shows: there may be a hundred thousand of them in memory. */
export interface TaskRow {
  readonly taskId: string;
  readonly model: string;
  readonly status: TaskStatus;
  readonly created: number;
  readonly started: number;
  readonly completed: number;
  readonly progress: number | undefined;
  /** Decimal USD: the captured amount if it is over, otherwise the held amount. */
  readonly cost: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly errorMessage: string | undefined;
  readonly preview: Pick<Output, 'url' | 'expireAt' | 'type' | 'mimeType'> | undefined;
}

export interface TaskPage {
  readonly rows: readonly TaskRow[];
  readonly nextCursor: string | undefined;
  readonly total: number;
  readonly isTotalCapped: boolean;
}

type Pages = InfiniteData<TaskPage, string | undefined>;

export function isOver(status: TaskStatus): boolean {
  return status === 'success' || status === 'fail';
}

/** The output that represents the whole task: a still image, if there is one. */
function previewOf(output: WireTask['output']): TaskRow['preview'] {
  const shown = output?.find(({ mimeType }) => mimeType.startsWith('image/')) ?? output?.[0];
  if (shown === undefined) return undefined;
  return { url: shown.url, expireAt: shown.expireAt, type: shown.type, mimeType: shown.mimeType };
}

function rowOf(task: WireTask): TaskRow {
  return {
    taskId: task.taskId,
    model: task.model,
    status: task.status,
    created: task.created,
    started: task.started,
    completed: task.completed,
    progress: task.progress,
    cost: isOver(task.status) ? task.billing.captured : task.billing.held,
    metadata: task.metadata,
    errorMessage: task.error?.message,
    preview: previewOf(task.output),
  };
}

/** The filter as the API's parameters; the page's URL uses them too. */
export function filterParameters(filter: TaskFilter): Record<string, string> {
  return {
    ...(filter.statuses.length === 0 ? {} : { status: filter.statuses.join(',') }),
    ...(filter.model === undefined ? {} : { model: filter.model }),
    ...(filter.keyId === undefined ? {} : { keyId: filter.keyId }),
    ...(filter.createdAfter === undefined ? {} : { created_after: String(filter.createdAfter) }),
    ...(filter.createdBefore === undefined ? {} : { created_before: String(filter.createdBefore) }),
    ...Object.fromEntries(Object.entries(filter.metadata).map(([key, value]) => [`metadata.${key}`, value])),
  };
}

async function readPage(
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<TaskPage> {
  const list = await api.call<WireTaskList>('GET', '/v1/tasks', { query, signal });
  return {
    rows: list.tasks.map(rowOf),
    nextCursor: list.nextCursor,
    total: list.total,
    isTotalCapped: list.totalIsCapped === true,
  };
}

function pagesKey(filter: TaskFilter) {
  return ['tasks', 'list', filterParameters(filter)] as const;
}

/** The list, as far as it has been read. */
export function useTaskPages(filter: TaskFilter) {
  return useInfiniteQuery({
    queryKey: pagesKey(filter),
    queryFn: ({ pageParam, signal }) =>
      readPage({ ...filterParameters(filter), size: PAGE_SIZE, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // A refetch would read every page again: new tasks are added by `useNewTasks`, changes by `useFreshRows`.
    staleTime: Infinity,
    refetchOnMount: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    structuralSharing: false,
  });
}

/** Tasks that were created since the list was read. */
export interface NewTasks {
  /** Newest first. */
  readonly rows: readonly TaskRow[];
  /** There are so many that the list should be reloaded. */
  readonly isTooMany: boolean;
  readonly total: number;
  readonly isTotalCapped: boolean;
}

/** Reads tasks newer than those of the list. @param isKnown whether the list already has a task. */
export function useNewTasks(filter: TaskFilter, isKnown: (taskId: string) => boolean, isEnabled: boolean) {
  return useQuery({
    queryKey: ['tasks', 'new', filterParameters(filter)],
    queryFn: ({ signal }) => readNewTasks(filter, isKnown, signal),
    enabled: isEnabled,
    refetchInterval: NEW_TASKS_EVERY_MS,
    staleTime: 0,
    gcTime: 0,
  });
}

async function readNewTasks(
  filter: TaskFilter,
  isKnown: (taskId: string) => boolean,
  signal: AbortSignal,
): Promise<NewTasks> {
  const rows: TaskRow[] = [];
  let cursor: string | undefined;
  for (;;) {
    const size = cursor === undefined ? NEWEST : PAGE_SIZE;
    const page = await readPage({ ...filterParameters(filter), size, cursor }, signal);
    const fresh = page.rows.filter(({ taskId }) => !isKnown(taskId));
    rows.push(...fresh);
    const totals = { total: page.total, isTotalCapped: page.isTotalCapped };
    // Tasks are not listed exactly in the order of their times: a known task among new ones does not end the new ones.
    if (page.nextCursor === undefined || fresh.length < page.rows.length) return { rows, isTooMany: false, ...totals };
    if (rows.length > MOST_NEW) return { rows, isTooMany: true, ...totals };
    cursor = page.nextCursor;
  }
}

/** Adds new tasks on top of the list. */
export function putOnTop(client: QueryClient, filter: TaskFilter, { rows, total, isTotalCapped }: NewTasks): void {
  client.setQueryData<Pages>(pagesKey(filter), (data) => {
    const [first, ...others] = data?.pages ?? [];
    if (data === undefined || first === undefined) return data;
    const known = new Set(first.rows.map(({ taskId }) => taskId));
    const added = rows.filter(({ taskId }) => !known.has(taskId));
    return { ...data, pages: [{ ...first, rows: [...added, ...first.rows], total, isTotalCapped }, ...others] };
  });
}

/** Reloads the list from its beginning. */
export async function reloadList(client: QueryClient, filter: TaskFilter): Promise<void> {
  await client.resetQueries({ queryKey: pagesKey(filter) });
}

/** Whether a row may be outdated: its task is running, or the URL of its image is about to expire. */
function isStale(row: TaskRow, nowMs: number): boolean {
  return !isOver(row.status) || (row.preview !== undefined && row.preview.expireAt - URL_MARGIN_SECONDS < nowMs / 1000);
}

/** Reads those visible rows again that may have changed: all in one request. @param nowMs since 1970. */
export function useFreshRows(filter: TaskFilter, visible: readonly TaskRow[], nowMs: number): void {
  const client = useQueryClient();
  const ids = visible
    .filter((row) => isStale(row, nowMs))
    .map(({ taskId }) => taskId)
    .slice(0, PAGE_SIZE);
  useQuery({
    queryKey: ['tasks', 'fresh', ids.join(',')],
    queryFn: async ({ signal }) => {
      const page = await readPage({ ids: ids.join(','), size: PAGE_SIZE }, signal);
      replaceRows(client, filter, page.rows);
      return page.rows.length;
    },
    enabled: ids.length > 0,
    refetchInterval: OPEN_TASKS_EVERY_MS,
    staleTime: OPEN_TASKS_EVERY_MS,
    gcTime: 0,
    placeholderData: keepPreviousData,
  });
}

function replaceRows(client: QueryClient, filter: TaskFilter, rows: readonly TaskRow[]): void {
  const fresh = new Map(rows.map((row) => [row.taskId, row]));
  client.setQueryData<Pages>(pagesKey(filter), (data) => {
    if (data === undefined) return data;
    return {
      ...data,
      pages: data.pages.map((page) =>
        page.rows.some(({ taskId }) => fresh.has(taskId))
          ? { ...page, rows: page.rows.map((row) => fresh.get(row.taskId) ?? row) }
          : page,
      ),
    };
  });
}
