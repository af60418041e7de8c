/**
 * The rows of the list. Only those on the screen are rendered: the page scrolls as if all were there. New tasks are
 * added on top while the user is at the top, and offered with a button elsewhere, so that nothing moves while it is
 * read.
 */
import { Button, Center, Loader, VisuallyHidden } from '@mantine/core';
import { IconArrowUp } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useMediaQuery } from '@mantine/hooks';
import { useEffect, useMemo, useRef } from 'react';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { reloadList, putOnTop, useFreshRows, useNewTasks } from '../../api/tasks.ts';
import type { NewTasks, TaskFilter, TaskPage, TaskRow, useTaskPages } from '../../api/tasks.ts';
import { ErrorState } from '../../components/states.tsx';
import { texts } from '../../texts/tasks.ts';
import styles from './task-list.module.css';
import { COLUMNS, TaskListRow } from './task-row.tsx';
import { useRowKeys } from './use-row-keys.ts';
import { useRows } from './use-rows.ts';
import { useSecond } from '../../components/second.ts';

/** With fewer rows than this below the screen, the next page is read. */
const READ_AHEAD = 40;
/** Rows have this fixed height; in rem, so that it grows with the reader's font size. */
const ROW_REM = 4;
const CARD_REM = 6;
/** Below this width cards are shown. */
const CARDS_BELOW = '(max-width: 61.99em)';

interface ListProps {
  readonly filter: TaskFilter;
  readonly pages: ReturnType<typeof useTaskPages>;
  readonly first: TaskPage;
  /** Shown instead of rows if there are none. */
  readonly children: ReactNode;
}

export function TaskList({ filter, pages, first, children }: ListProps) {
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.rows) ?? [], [pages.data]);
  const isCard = useMediaQuery(CARDS_BELOW, undefined, { getInitialValueInEffect: false });
  const gridRef = useRef<HTMLDivElement>(null);
  const nowMs = useSecond();
  const [, navigate] = useLocation();
  const rem = useMemo(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize), []);
  const listName = JSON.stringify(filter);
  const { virtualizer, active, setActive } = useRows({
    rows,
    rowPx: (isCard ? CARD_REM : ROW_REM) * rem,
    gridRef,
    listName,
  });
  const items = virtualizer.getVirtualItems();
  const shown = items.map(({ index }) => rows[index]).filter((row): row is TaskRow => row !== undefined);
  useFreshRows(filter, virtualizer.isScrolling ? [] : shown, nowMs);
  const onKeyDown = useRowKeys({ rows, active, setActive, virtualizer, gridRef });

  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = pages;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    const isNear = last >= rows.length - READ_AHEAD;
    if (isNear && hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [last, rows.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);

  const isAll = !hasNextPage;
  return (
    <>
      <NewTasksNote
        filter={filter}
        rows={rows}
        isAtTop={(virtualizer.scrollOffset ?? 0) <= 0}
        onShown={() => window.scrollTo({ top: 0 })}
      />
      {rows.length === 0 ? (
        children
      ) : (
        <div
          ref={gridRef}
          role="grid"
          aria-label={texts.listLabel}
          aria-rowcount={first.isTotalCapped && !isAll ? -1 : Math.max(first.total, rows.length) + 1}
          aria-colcount={isCard ? 2 : COLUMNS.length}
          aria-readonly
          tabIndex={-1}
          onKeyDown={onKeyDown}
        >
          {isCard ? null : (
            <div role="row" aria-rowindex={1} className={`${styles['columns']} ${styles['head']}`}>
              {COLUMNS.map((name) => (
                <div role="columnheader" key={name} className={styles['cell']}>
                  {name}
                </div>
              ))}
            </div>
          )}
          <div role="rowgroup" className={styles['rows']} style={{ height: virtualizer.getTotalSize() }}>
            {items.map(({ index, start, size }) => {
              const row = rows[index];
              return row === undefined ? null : (
                <TaskListRow
                  key={row.taskId}
                  row={row}
                  index={index}
                  start={start - virtualizer.options.scrollMargin}
                  size={size}
                  isCard={isCard}
                  isMoving={virtualizer.isScrolling}
                  isStop={index === active}
                  nowMs={nowMs}
                  onOpen={(taskId) => navigate(`/tasks/${taskId}`)}
                  onFocus={setActive}
                />
              );
            })}
          </div>
        </div>
      )}
      <ListEnd pages={pages} count={rows.length} />
    </>
  );
}

function ListEnd({ pages, count }: { readonly pages: ListProps['pages']; readonly count: number }) {
  if (pages.isFetchNextPageError) {
    return <ErrorState error={pages.error ?? new Error(texts.moreFailed)} onRetry={() => void pages.fetchNextPage()} />;
  }
  if (pages.hasNextPage) {
    return (
      <Center mih="4rem" role="status" aria-label={texts.loadingMore}>
        {pages.isFetchingNextPage ? <Loader size="sm" /> : null}
      </Center>
    );
  }
  return count === 0 ? null : (
    <VisuallyHidden>
      <p>{texts.end}</p>
    </VisuallyHidden>
  );
}

interface NoteProps {
  readonly filter: TaskFilter;
  readonly rows: readonly TaskRow[];
  /** Of the page: new rows on top are visible there. */
  readonly isAtTop: boolean;
  readonly onShown: () => void;
}

/** Reads new tasks, and adds them on top automatically or on request. */
function NewTasksNote({ filter, rows, isAtTop, onShown }: NoteProps) {
  const client = useQueryClient();
  const known = useMemo(() => new Set(rows.map(({ taskId }) => taskId)), [rows]);
  const { data } = useNewTasks(filter, (taskId) => known.has(taskId), true);
  const fresh: NewTasks | undefined = useMemo(
    () => (data === undefined ? undefined : { ...data, rows: data.rows.filter(({ taskId }) => !known.has(taskId)) }),
    [data, known],
  );
  const count = fresh?.rows.length ?? 0;
  useEffect(() => {
    if (fresh === undefined || count === 0 || fresh.isTooMany) return;
    if (isAtTop || rows.length === 0) putOnTop(client, filter, fresh);
  }, [client, filter, fresh, count, isAtTop, rows.length]);

  const show = (): void => {
    if (fresh?.isTooMany === true) void reloadList(client, filter);
    else if (fresh !== undefined) putOnTop(client, filter, fresh);
    onShown();
  };
  const isOffered = fresh !== undefined && count > 0;
  return (
    <div className={styles['new']} role="status">
      {isOffered ? (
        <Button size="xs" radius="xl" onClick={show} leftSection={<IconArrowUp size={14} aria-hidden />}>
          {fresh.isTooMany ? texts.manyNewTasks : texts.newTasks(count)}
        </Button>
      ) : null}
    </div>
  );
}
