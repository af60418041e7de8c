/** Turns the windows of a run into its table. */
import { isMet, median } from './measures.ts';
import type { Measure } from './measures.ts';
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
  readonly measure: Measure;
  readonly ours: number;
  readonly raw: number;
  /** Median of ours over median of raw. */
  readonly ratio: number;
  /** The smallest and the largest ratio of a single round. */
  readonly spread: readonly [number, number];
  readonly isMet: boolean;
}

/** Only measures of which every round has both sides. */
export function summarise(measures: readonly Measure[], windows: readonly Window[]): readonly Summary[] {
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

/** The table as it is printed. */
export function table(summaries: readonly Summary[]): string {
  const rows = summaries.map(({ measure, ours, raw, ratio, spread, isMet }) => {
    const unit = measure.figure === 'perSecond' ? '/s' : ' ms';
    const bound = 'atLeast' in measure.bound ? `≥ ${measure.bound.atLeast}` : `≤ ${measure.bound.atMost}`;
    return [
      measure.name,
      String(measure.clients),
      `${measure.ours}: ${ours.toFixed(1)}${unit}`,
      `${measure.raw}: ${raw.toFixed(1)}${unit}`,
      ratio.toFixed(2),
      spread.map((each) => each.toFixed(2)).join('–'),
      bound,
      String(measure.target),
      isMet ? 'ok' : 'MISSED',
    ];
  });
  const all = [['measure', 'clients', 'ours', 'raw Temporal', 'ratio', 'spread', 'promised', 'target', ''], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
