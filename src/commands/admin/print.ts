const LEAST_NAME_WIDTH = 10;

/**
 * Prints one record, or several with blank lines between them: readable lines, or JSON with `--json`, where a list is a
 * list and a number a number. Money is in decimal USD, and times are in ISO 8601; null means absent or unlimited.
 */
export function print(result: unknown, isJson: boolean): void {
  if (isJson) {
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  const records = Array.isArray(result) ? (result as readonly object[]) : [result as object];
  process.stdout.write(`${records.map(block).join('\n\n')}\n`);
}

function block(record: object): string {
  const entries = Object.entries(record);
  const width = Math.max(LEAST_NAME_WIDTH, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)} ${readable(value)}`).join('\n');
}

function readable(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '-';
  if (!Array.isArray(value)) return typeof value === 'object' ? membersOf(value) : JSON.stringify(value);
  if (value.length === 0) return 'none';
  return value.every((member) => typeof member === 'object') ? table(value as readonly object[]) : value.join(' ');
}

/** A record within another: `tasks 3, captured 0.12`. */
function membersOf(record: object): string {
  const members = Object.entries(record).map(([name, value]) => `${name} ${readable(value)}`);
  return members.length === 0 ? 'none' : members.join(', ');
}

/** Records of one kind, one per line below the names of their fields. */
function table(records: readonly object[]): string {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const rows = [
    names,
    ...records.map((record) => names.map((name) => readable((record as Record<string, unknown>)[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => `\n  ${line.trimEnd()}`).join('');
}
