/** The sums of the API put together for what is drawn and what is told: exactly, in millionths of a dollar. */
import type { Usage } from '../../api/usage.ts';
import { microsOf } from '../../components/amounts.ts';
import { eachDay } from './days.ts';

/** As many colours can be told apart; whoever spent least shares the last one. */
const MOST_DRAWN = 7;

/** What one model or key spent. */
export interface Sum {
  /** null: storage. */
  readonly name: string | null;
  readonly micros: bigint;
  readonly requests: number;
}

export interface Spending {
  /** All of them, the greatest first. */
  readonly sums: readonly Sum[];
  /** How many of them are drawn each by itself; the others are drawn as one. */
  readonly drawn: number;
  /** Every day of the period. By what is drawn, and last, where there are any, the others; micro-USD. */
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
  // One alone is no “others”.
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
