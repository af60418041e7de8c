/** Turns the windows of a run into its table. */
import { isMet, median } from './measures.ts';
import type { Comparison } from './measures.ts';
import type { Side } from './stage/stage.ts';

/** One window: `value` is in the unit of its measure. */
export interface Window {
  readonly measure: string;
  readonly side: Side;
  readonly round: number;
  readonly value: number;
  readonly operations: number;
}

export interface Summary {
  readonly measure: Comparison;
  readonly ours: number;
  readonly raw: number;
  /** Median of ours over median of raw. */
  readonly ratio: number;
  /** The smallest and the largest ratio of a single round. */
  readonly spread: readonly [number, number];
  readonly isMet: boolean;
}

/** Only measures of which every round has both sides. */
export function summarise(measures: readonly Comparison[], windows: readonly Window[]): readonly Summary[] {
  return measures.flatMap((measure) => {
    const of = (side: Side): readonly Window[] =>
      windows.filter((window) => window.measure === measure.name && window.side === side);
    const ratios = of('ours').flatMap(({ round, value }) => {
      const raw = of('raw').find((window) => window.round === round);
      return raw === undefined ? [] : [value / raw.value];
    });
    if (ratios.length === 0) return [];
    const ours = median(of('ours').map(({ value }) => value));
    const raw = median(of('raw').map(({ value }) => value));
    const ratio = ours / raw;
    return [
      { measure, ours, raw, ratio, spread: [Math.min(...ratios), Math.max(...ratios)], isMet: isMet(measure, ratio) },
    ];
  });
}

/** The table as it is printed. @param bound the heading of the column of bounds. */
export function table(summaries: readonly Summary[], bound = 'promised'): string {
  const rows = summaries.map(({ measure, ours, raw, ratio, spread, isMet }) => {
    const unit = measure.figure === 'perSecond' ? '/s' : ' ms';
    const bounded = 'atLeast' in measure.bound ? `≥ ${measure.bound.atLeast}` : `≤ ${measure.bound.atMost}`;
    return [
      measure.name,
      measure.beginsPerSecond === undefined ? String(measure.clients) : `${measure.beginsPerSecond}/s`,
      `${measure.ours}: ${ours.toFixed(1)}${unit}`,
      `${measure.raw}: ${raw.toFixed(1)}${unit}`,
      ratio.toFixed(2),
      spread.map((each) => each.toFixed(2)).join('–'),
      bounded,
      String(measure.target ?? ''),
      isMet ? 'ok' : 'MISSED',
    ];
  });
  const target = summaries.some(({ measure }) => measure.target !== undefined) ? 'target' : '';
  return columns([['measure', 'clients', 'ours', 'raw Temporal', 'ratio', 'spread', bound, target, ''], ...rows]);
}

/** Rows of cells as lines, each column as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
