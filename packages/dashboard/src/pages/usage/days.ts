/** UTC days, in the API's notation: `2026-11-22`. */

const DAY_MS = 86_400_000;

export function isDay(text: string): boolean {
  const at = Date.parse(text);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at) && dayAt(at) === text && !text.startsWith('0000');
}

/** @param ms milliseconds since 1970. */
export function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The first of this many days that end with the day of `nowMs`. */
export function firstDayOf(days: number, nowMs: number): string {
  return dayAt(nowMs - (days - 1) * DAY_MS);
}

/** The number of days, both included; below 1 if the first is after the last. */
export function daysOf(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

export function eachDay(from: string, to: string): string[] {
  const first = Date.parse(from);
  return Array.from({ length: Math.max(0, daysOf(from, to)) }, (_, index) => dayAt(first + index * DAY_MS));
}

const short = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const whole = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

/** `Nov 22` */
export function formatShortDay(day: string): string {
  return short.format(Date.parse(day));
}

/** `Nov 22, 2026` */
export function formatDay(day: string): string {
  return whole.format(Date.parse(day));
}
