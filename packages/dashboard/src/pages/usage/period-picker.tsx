/** The days for which spending and ledger are shown: a number of days up to today, or custom dates. */
import { MAX_USAGE_DAYS } from '@darkroom/api/facts/limits';
import { Group, SegmentedControl, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useState } from 'react';
import type { Period } from '../../api/usage.ts';
import { texts } from '../../texts/usage.ts';
import { dayAt, daysOf, isDay } from './days.ts';
import { LENGTHS } from './usage-address.ts';
import type { UsageView } from './usage-address.ts';
import { useNow } from '../../components/now.ts';

const { period: words } = texts;
const CUSTOM = 'custom';

interface PeriodPickerProps {
  readonly period: UsageView['period'];
  /** The same, as days. */
  readonly shown: Period;
  readonly onChange: (period: UsageView['period']) => void;
}

export function PeriodPicker({ period, shown, onChange }: PeriodPickerProps) {
  const today = dayAt(useNow());
  const isNarrow = useMediaQuery('(max-width: 30em)') ?? false;
  const isCustom = typeof period !== 'number';
  const choose = (chosen: string): void => {
    onChange(LENGTHS.find((length) => String(length) === chosen) ?? { from: shown.from, to: shown.to ?? today });
  };
  return (
    <Group align="flex-end" gap="md">
      <SegmentedControl
        aria-label={words.label}
        // Its labels are truncated if there is no room: in a narrow window it takes the full width.
        size={isNarrow ? 'xs' : 'sm'}
        fullWidth={isNarrow}
        w={isNarrow ? '100%' : undefined}
        value={isCustom ? CUSTOM : String(period)}
        onChange={choose}
        data={[
          ...LENGTHS.map((length) => ({ value: String(length), label: words.days(length) })),
          { value: CUSTOM, label: words.custom },
        ]}
      />
      {isCustom ? <CustomDays {...period} today={today} onChange={onChange} /> : null}
    </Group>
  );
}

/** An incomplete period is kept here, and used as soon as it is valid. */
function CustomDays(props: {
  readonly from: string;
  readonly to: string | undefined;
  readonly today: string;
  readonly onChange: (period: Required<Period>) => void;
}) {
  const [from, setFrom] = useState(props.from);
  const [to, setTo] = useState(props.to ?? props.today);
  const error = validateDays(from, to);
  const apply = (first: string, last: string): void => {
    setFrom(first);
    setTo(last);
    if (validateDays(first, last) === undefined) props.onChange({ from: first, to: last });
  };
  return (
    <Group align="flex-start" gap="sm">
      <TextInput
        type="date"
        label={words.from}
        value={from}
        max={props.today}
        onChange={({ currentTarget }) => apply(currentTarget.value, to)}
        error={error}
        errorProps={{ role: 'alert' }}
      />
      <TextInput
        type="date"
        label={words.to}
        value={to}
        max={props.today}
        onChange={({ currentTarget }) => apply(from, currentTarget.value)}
        error={error !== undefined}
      />
    </Group>
  );
}

function validateDays(from: string, to: string): string | undefined {
  if (!isDay(from) || !isDay(to)) return words.needsDays;
  const days = daysOf(from, to);
  if (days < 1) return words.wrongOrder;
  return days > MAX_USAGE_DAYS ? words.tooLong(MAX_USAGE_DAYS) : undefined;
}
