/**
 * Which rows are rendered: those on the screen, a few around it, and the one with the keyboard focus. The position in
 * a list is remembered as long as the page is open, for the return from a task.
 */
import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual';
import type { Range } from '@tanstack/react-virtual';
import { useCallback, useEffect, useLayoutEffect, useState } from 'react';
import type { RefObject } from 'react';
import type { TaskRow } from '../../api/tasks.ts';

const OVERSCAN = 12;
/** The height of what stays above the rows during scrolling: the page's header and the column names. */
const HEAD_PX = 112;

interface ListPosition {
  readonly scrollY: number;
  readonly taskId: string | undefined;
}

const positions = new Map<string, ListPosition>();

interface RowsOptions {
  readonly rows: readonly TaskRow[];
  readonly rowPx: number;
  readonly gridRef: RefObject<HTMLElement | null>;
  /** The name of the list. */
  readonly listName: string;
}

export function useRows({ rows, rowPx, gridRef, listName }: RowsOptions) {
  const [before] = useState(() => positions.get(listName));
  const [activeId, setActiveId] = useState(before?.taskId);
  const [margin, setMargin] = useState(0);
  const found = activeId === undefined ? 0 : rows.findIndex(({ taskId }) => taskId === activeId);
  const active = Math.max(0, found);

  const isEmpty = rows.length === 0;
  // The content above the list may grow and shrink.
  useLayoutEffect(() => {
    const grid = gridRef.current;
    if (grid === null) return undefined;
    const measure = (): void => {
      const top = grid.querySelector('[role="rowgroup"]')?.getBoundingClientRect().top ?? 0;
      setMargin(Math.round(top + window.scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    if (grid.parentElement !== null) for (const sibling of grid.parentElement.children) observer.observe(sibling);
    return () => observer.disconnect();
  }, [gridRef, isEmpty]);

  const rangeExtractor = useCallback(
    (range: Range) => {
      const indices = defaultRangeExtractor(range);
      if (active >= range.count || indices.includes(active)) return indices;
      return [...indices, active].toSorted((a, b) => a - b);
    },
    [active],
  );
  // oxlint-disable-next-line react/incompatible-library -- nothing here is memoized by a compiler
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: margin,
    scrollPaddingStart: HEAD_PX,
    rangeExtractor,
    initialOffset: () => before?.scrollY ?? 0,
  });
  useEffect(() => virtualizer.measure(), [virtualizer, rowPx]);

  // Restores the scroll position once, and remembers it when the user leaves.
  useEffect(() => {
    if (before !== undefined) window.scrollTo({ top: before.scrollY, behavior: 'instant' });
    else window.scrollTo({ top: 0, behavior: 'instant' });
  }, [before]);
  useEffect(() => {
    const remember = (): void => {
      positions.set(listName, { scrollY: window.scrollY, taskId: activeId });
    };
    remember();
    window.addEventListener('scroll', remember, { passive: true });
    return () => window.removeEventListener('scroll', remember);
  }, [listName, activeId]);

  const setActive = useCallback((index: number) => setActiveId(rows[index]?.taskId), [rows]);
  return { virtualizer, active, setActive };
}
