/**
 * The list of tasks as the dashboard reads it: by cursor, newest first, each page once however far one scrolls. What has
 * been read stays as it was read, until new tasks are put on top or single ones are read again by their ids.
 */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { WireTaskList } from '../../../src/wire/task-list.ts';
import type { WireTask } from '../../../src/wire/task.ts';
import type { TaskStatus } from '../../../src/domain/task-status.ts';
import { api } from './api.ts';

export type Task = WireTask;
export type Output = NonNullable<WireTask['output']>[number];

/** Contract §3 "size 1-100". */
const PAGE_SIZE = 100;
/** As many are asked for at once, to see what is new. */
const NEWEST = 20;
/** More new tasks than this are not put on top one by one: the list begins anew. */
const MOST_NEW = 500;
const NEW_TASKS_EVERY_MS = 5_000;
const OPEN_TASKS_EVERY_MS = 2_500;
/** An address is read again when it ends within this time. */
const URL_MARGIN_SECONDS = 60;

export interface TaskFilter {
  readonly statuses: readonly TaskStatus[];
  /** The full name. */
  readonly model?: string | undefined;
  readonly keyId?: string | undefined;
  /** Unix seconds, both exclusive, as the API takes them. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What the list shows of a task: there may be a hundred thousand of them in memory. */
export interface TaskRow {
  readonly taskId: string;
  readonly model: string;
  readonly status: TaskStatus;
  readonly created: number;
  readonly started: number;
  readonly completed: number;
  readonly progress: number | undefined;
  /** Decimal USD: what was captured once it is over, what is held before. */
  readonly cost: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly errorMessage: string | undefined;
  readonly picture: Pick<Output, 'url' | 'expireAt' | 'type' | 'mimeType'> | undefined;
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

/** The output that stands for the whole: a still picture, where there is one. */
function pictureOf(output: WireTask['output']): TaskRow['picture'] {
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
    picture: pictureOf(task.output),
  };
}

/** The filter in the API's own words; the address of the page uses them too. */
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
    // Reading again would read every page again: what is new comes by `useNewTasks`, what changes by `useFreshRows`.
    staleTime: Infinity,
    refetchOnMount: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    structuralSharing: false,
  });
}

/** What came on top since the list was read. */
export interface NewTasks {
  /** Newest first. */
  readonly rows: readonly TaskRow[];
  /** There are so many that the list had better begin anew. */
  readonly isTooMany: boolean;
  readonly total: number;
  readonly isTotalCapped: boolean;
}

/** Looks for tasks newer than those of the list. @param isKnown whether the list has a task already. */
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
    const told = { total: page.total, isTotalCapped: page.isTotalCapped };
    // Tasks do not come in the order of their times quite: a known one among new ones does not end them.
    if (page.nextCursor === undefined || fresh.length < page.rows.length) return { rows, isTooMany: false, ...told };
    if (rows.length > MOST_NEW) return { rows, isTooMany: true, ...told };
    cursor = page.nextCursor;
  }
}

/** Puts new tasks on top of the list. */
export function putOnTop(client: QueryClient, filter: TaskFilter, { rows, total, isTotalCapped }: NewTasks): void {
  client.setQueryData<Pages>(pagesKey(filter), (data) => {
    const [first, ...others] = data?.pages ?? [];
    if (data === undefined || first === undefined) return data;
    const known = new Set(first.rows.map(({ taskId }) => taskId));
    const added = rows.filter(({ taskId }) => !known.has(taskId));
    return { ...data, pages: [{ ...first, rows: [...added, ...first.rows], total, isTotalCapped }, ...others] };
  });
}

/** The list is read again from its beginning. */
export async function beginAnew(client: QueryClient, filter: TaskFilter): Promise<void> {
  await client.resetQueries({ queryKey: pagesKey(filter) });
}

/** Whether a row tells what may have changed: it runs, or the address of its picture ends. */
function isStale(row: TaskRow, nowMs: number): boolean {
  return !isOver(row.status) || (row.picture !== undefined && row.picture.expireAt - URL_MARGIN_SECONDS < nowMs / 1000);
}

/** Reads those of the rows on the screen again that may have changed: all in one request. @param nowMs since 1970. */
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
