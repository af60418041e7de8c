/**
 * The selected outputs of the page. A click selects one; with Shift all from the last selected one to it.
 */
import { useCallback, useMemo, useState } from 'react';

interface Selection {
  readonly ids: ReadonlySet<string>;
  /** @param isRange applies the new state of this one to all from the previously toggled one to this one. */
  readonly toggle: (id: string, isRange: boolean) => void;
  readonly replace: (ids: Iterable<string>) => void;
}

/**
 * @param order outputs that can be selected, in the order of the page. An output that leaves the page is deselected.
 */
export function useSelection(order: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<string>();
  const ids = useMemo(() => new Set(order.filter((id) => chosen.has(id))), [order, chosen]);

  const toggle = useCallback(
    (id: string, isRange: boolean) => {
      const isOn = !ids.has(id);
      const next = new Set(ids);
      for (const each of isRange ? between(order, anchor, id) : [id]) {
        if (isOn) next.add(each);
        else next.delete(each);
      }
      setChosen(next);
      setAnchor(id);
    },
    [ids, order, anchor],
  );
  const replace = useCallback((wanted: Iterable<string>) => setChosen(new Set(wanted)), []);
  return { ids, toggle, replace };
}

function between(order: readonly string[], from: string | undefined, to: string): readonly string[] {
  const end = order.indexOf(to);
  const start = from === undefined ? end : order.indexOf(from);
  if (start === -1) return [to];
  return order.slice(Math.min(start, end), Math.max(start, end) + 1);
}
