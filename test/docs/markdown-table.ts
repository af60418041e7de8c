/** Tables of rendered documents. */

/** A table as the formatter of this repository formats it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(3, ...escaped.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill = ' '): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`;
  const [first = [], ...others] = escaped;
  return `${[
    line(first),
    line(
      first.map(() => ''),
      '-',
    ),
    ...others.map((row) => line(row)),
  ].join('\n')}\n`;
}
