/**
 * Statements over rows that the caller gives: as records, or as the same text for one row and for many. There a single
 * row is plain parameters, so that the planner sees what it would see without a list; many are arrays, one for each
 * column.
 */
import type { Queryable, Statement } from './database.ts';

/**
 * SQL for a relation of records, which are one parameter: a JSON array of objects with the names of the columns. Its
 * column `place` is the position of each. A plan does not depend on how many there are.
 *
 * @param columns the type of each column; a member that is absent is null.
 */
export function recordsIn(parameter: string, columns: Readonly<Record<string, string>>, alias: string): string {
  const names = Object.keys(columns);
  const definitions = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  return `ROWS FROM (jsonb_to_recordset(${parameter}::jsonb) AS (${definitions.join(', ')}))
          WITH ORDINALITY AS ${alias} (${[...names, 'place'].join(', ')})`;
}

/** A statement for any number of rows. */
export interface RowStatement {
  readonly one: Statement;
  readonly many: Statement;
}

/**
 * @param columns the type of each column, in the order of a row's values.
 * @param sharedCount the number of parameters that are the same for all rows: `$1`, `$2`, …
 * @param text the statement, around the rows, which are a relation without an alias.
 */
export function rowStatement(
  name: string,
  columns: Readonly<Record<string, string>>,
  sharedCount: number,
  text: (rows: string) => string,
): RowStatement {
  const types = Object.entries(columns).map(([column, type], index) => ({
    column,
    type,
    parameter: `$${sharedCount + index + 1}`,
  }));
  const values = types.map(({ column, type, parameter }) => `${parameter}::${type} AS ${column}`);
  // An array that is the result of a subquery has a length that the planner does not know: it would plan every
  // execution anew otherwise, for the length that it has.
  const arrays = types.map(({ type, parameter }) => `(SELECT ${parameter}::${type}[])`);
  const names = types.map(({ column }) => column);
  return {
    one: { name, text: text(`(SELECT ${values.join(', ')})`) },
    many: {
      name: `${name}_many`,
      text: text(`(SELECT * FROM unnest(${arrays.join(', ')}) AS u (${names.join(', ')}))`),
    },
  };
}

/** Runs it. @param rows at least one; each has a value for every column. @param shared the parameters before them. */
export function queryRows<Row>(
  database: Queryable,
  { one, many }: RowStatement,
  rows: readonly (readonly unknown[])[],
  shared: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const [first = [], ...others] = rows;
  if (others.length === 0) return database.query<Row>(one, [...shared, ...first]);
  const columns = first.map((_, index) => rows.map((row) => row[index]));
  return database.query<Row>(many, [...shared, ...columns]);
}
