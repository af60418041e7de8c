/** Keyboard navigation in the list: arrows, Page Up and Down, Home and End move between tasks. */
import type { KeyboardEvent, RefObject } from 'react';
import type { Virtualizer } from '@tanstack/react-virtual';
import type { TaskRow } from '../../api/tasks.ts';

const PAGE_ROWS = 10;

interface Keys {
  readonly rows: readonly TaskRow[];
  readonly active: number;
  readonly setActive: (index: number) => void;
  readonly virtualizer: Virtualizer<Window, Element>;
  readonly gridRef: RefObject<HTMLElement | null>;
}

export function useRowKeys({ rows, active, setActive, virtualizer, gridRef }: Keys) {
  const last = rows.length - 1;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + PAGE_ROWS,
    PageUp: active - PAGE_ROWS,
    Home: 0,
    End: last,
  };
  return (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const index = Math.min(Math.max(target, 0), last);
    setActive(index);
    virtualizer.scrollToIndex(index, { align: 'auto', behavior: 'auto' });
    focusRow(gridRef, index);
  };
}

/** The row may have to be rendered first. */
function focusRow(gridRef: RefObject<HTMLElement | null>, index: number): void {
  const MOST_FRAMES = 30;
  let frames = 0;
  const tryFocus = (): void => {
    const row = gridRef.current?.querySelector<HTMLElement>(`[data-index="${index}"]`);
    if (row !== null && row !== undefined) row.focus({ preventScroll: true });
    else if (frames++ < MOST_FRAMES) requestAnimationFrame(tryFocus);
  };
  requestAnimationFrame(tryFocus);
}
