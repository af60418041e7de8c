/** Tables of rendered documents. */

/** The formatter of this repository aligns the columns of a table up to this width. */
const MOST_ALIGNED = 120;

/** A table as the formatter formats it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(3, ...escaped.map((row) => row[column]?.length ?? 0)));
  const isAligned = widths.reduce((sum, width) => sum + width + 3, 1) <= MOST_ALIGNED;
  const line = (cells: readonly string[], fill = ' '): string =>
    `| ${cells.map((cell, column) => cell.padEnd(isAligned ? (widths[column] ?? 0) : 0, fill)).join(' | ')} |`;
  const [first = [], ...others] = escaped;
  return `${[
    line(first),
    line(
      first.map(() => '---'),
      '-',
    ),
    ...others.map((row) => line(row)),
  ].join('\n')}\n`;
}
