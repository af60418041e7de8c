/** A time in relative form: how long ago or from now, with the exact time in a tooltip. */
import { Text, Tooltip } from '@mantine/core';
import { useNow } from './now.ts';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
/**
 * The page's clock advances every ten seconds, and a computer's clock is seldom exact to the second: such a near time
 * is not shown as future.
 */
const STILL_NOW_SECONDS = 15;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** Future times are rounded, past times truncated: “in 7 days” does not become “in 6 days” at once. */
const whole = (count: number): number => (count > 0 ? Math.round(count) : Math.trunc(count));

/** @param seconds Unix; 0 means no time. @param nowMs milliseconds since 1970. */
export function formatRelative(seconds: number, nowMs: number): string {
  const apart = seconds - Math.floor(nowMs / 1000);
  const difference = apart > 0 && apart <= STILL_NOW_SECONDS ? 0 : apart;
  for (const [unit, length] of UNITS) {
    if (Math.abs(difference) >= length) return relative.format(whole(difference / length), unit);
  }
  return relative.format(difference, 'second');
}

/** @param seconds Unix. */
export function formatExact(seconds: number): string {
  return exact.format(seconds * 1000);
}

/** @param seconds Unix; 0: `none` is shown. */
export function Time({ seconds, none = '–' }: { readonly seconds: number; readonly none?: string }) {
  const nowMs = useNow();
  if (seconds === 0) return none;
  return (
    <Tooltip label={formatExact(seconds)} events={{ hover: true, focus: true, touch: true }}>
      <Text component="time" dateTime={new Date(seconds * 1000).toISOString()} size="sm" inherit>
        {formatRelative(seconds, nowMs)}
      </Text>
    </Tooltip>
  );
}
