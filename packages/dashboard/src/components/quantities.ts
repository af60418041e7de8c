/** Sizes and durations formatted for people. */

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** `1234567` → `1.2 MB`; a kB is 1,000 bytes, as in prices. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // A value that would be shown as 1000 of a unit is 1 of the next.
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${BYTE_UNITS[unit] ?? 'B'}`;
}

/** `4` → `4 s`, `75` → `1 min 15 s`, `7300` → `2 h 1 min`. Fractions of seconds are kept below ten of them. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return joined(minutes, 'min', whole % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return joined(hours, 'h', minutes % 60, 'min');
  return joined(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** `3` → `3 ms`, `1200` → `1.2 s`: below a second only milliseconds distinguish them. */
export function formatMilliseconds(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : formatSeconds(milliseconds / 1000);
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
