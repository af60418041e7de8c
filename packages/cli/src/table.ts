/** Rows of text in columns, for people; scripts take `--json`. */
import { printableLine } from './terminal.ts';

/**
 * Formats a table. The last column is not padded or cut.
 *
 * @param head names of the columns; a column whose name ends in `>` is right-aligned.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const isRight = head.map((name) => name.endsWith('>'));
  const cells = [head.map((name) => name.replace(/>$/, '')), ...rows.map((row) => row.map(printableLine))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return isRight[column] === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Formats names and values; undefined values are left out. */
export function facts(entries: readonly (readonly [name: string, value: string | undefined])[]): readonly string[] {
  const known = entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${printableLine(value)}`);
}

/** A time as `2026-11-22 21:05:47`, in the reader's time zone; empty for 0, which means never. */
export function moment(unixSeconds: number): string {
  if (unixSeconds === 0) return '';
  const at = new Date(unixSeconds * 1000);
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A size as `1.4 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power] ?? ''}`;
}
