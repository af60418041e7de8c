/** The API's sums combined for the chart and the tables: exactly, in millionths of a dollar. */
import type { Usage } from '../../api/usage.ts';
import { microsOf } from '../../components/amounts.ts';
import { eachDay } from './days.ts';

/** This many colours can be distinguished; the smallest spenders share the last one. */
const MOST_DRAWN = 7;

/** The spending of one model or key. */
export interface Sum {
  /** null: storage. */
  readonly name: string | null;
  readonly micros: bigint;
  readonly requests: number;
}

export interface Spending {
  /** All of them, the largest first. */
  readonly sums: readonly Sum[];
  /** How many of them are drawn separately; the others are drawn as one. */
  readonly drawn: number;
  /** Every day of the period. The parts are in drawing order, with the others last, if any; micro-USD. */
  readonly days: readonly { readonly day: string; readonly parts: readonly bigint[]; readonly micros: bigint }[];
}

export function spendingOf({ rows, from, to, groupBy }: Usage): Spending {
  const isByKey = groupBy.includes('keyId');
  const byName = new Map<string | null, { micros: bigint; requests: number }>();
  const byDay = new Map<string, Map<string | null, bigint>>();
  for (const row of rows) {
    const name = (isByKey ? row.keyId : row.model) ?? null;
    const micros = microsOf(row.captured);
    const before = byName.get(name) ?? { micros: 0n, requests: 0 };
    byName.set(name, { micros: before.micros + micros, requests: before.requests + row.count });
    const day = byDay.get(row.day ?? '') ?? new Map<string | null, bigint>();
    byDay.set(row.day ?? '', day.set(name, micros));
  }
  const sums = [...byName]
    .map(([name, sum]) => ({ name, ...sum }))
    .toSorted((one, other) => Number(other.micros - one.micros) || String(one.name).localeCompare(String(other.name)));
  // A single one is not grouped as “others”.
  const drawn = sums.length <= MOST_DRAWN + 1 ? sums.length : MOST_DRAWN;
  return {
    sums,
    drawn,
    days: eachDay(from, to).map((day) => {
      const spent = byDay.get(day);
      const all = sums.map(({ name }) => spent?.get(name) ?? 0n);
      const others = drawn === sums.length ? [] : [total(all.slice(drawn))];
      return { day, parts: [...all.slice(0, drawn), ...others], micros: total(all) };
    }),
  };
}

function total(micros: readonly bigint[]): bigint {
  return micros.reduce((sum, each) => sum + each, 0n);
}
