/** A moment, as people say it: how long ago or from now, with the exact time at hand. */
import { Text, Tooltip } from '@mantine/core';
import { useNow } from './now.ts';

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** @param seconds Unix; 0 is no time. @param nowMs milliseconds since 1970. */
export function formatRelative(seconds: number, nowMs: number): string {
  const difference = seconds - Math.floor(nowMs / 1000);
  for (const [unit, length] of UNITS) {
    if (Math.abs(difference) >= length) return relative.format(Math.trunc(difference / length), unit);
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
