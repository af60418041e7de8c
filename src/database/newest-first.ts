/**
 * Lists of rows of all accounts, newest first, for operators. Whatever the filter is, one page reads a bounded number
 * of rows: if those have too few that match, the page is shorter, and says where the next one goes on. Separate from
 * the lists of one account, whose filters have indexes of their own.
 */
import type { Queryable } from './database.ts';

/** How many rows one page reads at most. */
const MAX_SCANNED = 10_000;

/** A row's position: microseconds since 1970, and its id. */
export interface NewestPosition {
  readonly createdMicros: bigint;
  readonly id: string;
}

export interface NewestFirst {
  /** The name of the statement: another one for each `scanned`. */
  readonly name: string;
  /** `FROM … t WHERE …`, what an index serves that is ordered by `created_at` and `id`; with parameters from $1. */
  readonly scanned: string;
  /** What is selected of a matching row `t`. */
  readonly columns: string;
  /** The conditions that no index serves; with the same parameters. */
  readonly matches: string;
  readonly values: readonly unknown[];
  /** Unix seconds, inclusive. */
  readonly from?: number | undefined;
  /** Unix seconds, exclusive. */
  readonly before?: number | undefined;
  readonly after?: NewestPosition | undefined;
  readonly size: number;
}

export interface NewestPage<Row> {
  readonly rows: readonly Row[];
  /** Where the next page goes on. Undefined: there are no more. */
  readonly next: NewestPosition | undefined;
}

const MICROS = '(extract(epoch FROM t.created_at) * 1000000)::bigint';

/** Reads one page. */
export async function readNewestFirst<Row extends object>(
  database: Queryable,
  { name, scanned, columns, matches, values, from, before, after, size }: NewestFirst,
): Promise<NewestPage<Row>> {
  const at = (index: number): string => `$${values.length + index}`;
  const time = (index: number): string => `timestamptz 'epoch' + ${at(index)}::bigint * interval '1 microsecond'`;
  const inRange = `${scanned} AND t.created_at >= ${time(1)} AND (t.created_at, t.id) < (${time(2)}, ${at(3)}::text)`;
  const order = 'ORDER BY t.created_at DESC, t.id DESC';
  const end = before === undefined ? LAST_MICROS : BigInt(before) * 1_000_000n;
  const position = after !== undefined && after.createdMicros < end ? after : { createdMicros: end, id: '' };
  const range = [BigInt(from ?? 0) * 1_000_000n, position.createdMicros, position.id];

  const found = await database.query<Row & NewestPosition>(
    {
      name: `list_newest_${name}`,
      text: `SELECT ${columns}, t.id, ${MICROS} AS "createdMicros"
               FROM (SELECT t.* ${inRange} ${order} LIMIT ${MAX_SCANNED}) t
              WHERE ${matches} ${order} LIMIT ${at(4)}::integer`,
    },
    [...values, ...range, size + 1],
  );
  const rows = found.slice(0, size);
  if (found.length > size) return { rows, next: positionOf(rows.at(-1)) };
  const [last] = await database.query<NewestPosition>(
    {
      name: `end_newest_${name}`,
      // `matches` names the other parameters, and their types.
      text: `SELECT t.id, ${MICROS} AS "createdMicros" ${inRange} AND (true OR (${matches}))
             ${order} OFFSET ${MAX_SCANNED - 1} LIMIT 1`,
    },
    [...values, ...range],
  );
  return { rows, next: positionOf(last) };
}

/** The year 2286, which the cursor of lists reaches too. */
const LAST_MICROS = 9_999_999_999_999_999n;

function positionOf(row: NewestPosition | undefined): NewestPosition | undefined {
  return row === undefined ? undefined : { createdMicros: row.createdMicros, id: row.id };
}
