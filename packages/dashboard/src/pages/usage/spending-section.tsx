/** Spending: a chart by day, sums by model or key, and a table by day. */
import { Box, Button, Center, SegmentedControl, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChartBar } from '@tabler/icons-react';
import { Suspense, useMemo } from 'react';
import { useFilterChoices } from '../../api/filter-choices.ts';
import { useUsage } from '../../api/usage.ts';
import type { Period, Usage } from '../../api/usage.ts';
import { lazyPage } from '../../components/load-page.ts';
import { formatUsd } from '../../components/money.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { texts } from '../../texts/usage.ts';
import { Section } from '../tasks/section.tsx';
import { StaleContent } from './stale-content.tsx';
import { formatDay } from './days.ts';
import { DayTable, SumTable } from './spending-tables.tsx';
import type { Drawn } from './spending-tables.tsx';
import { spendingOf } from './spending-sums.ts';

const SpendingChart = lazyPage(() => import('./spending-chart.tsx'));

const { spending: words } = texts;
/** Seven that also differ in lightness, one for an eighth, and one for all others. */
const COLOURS = ['blue.7', 'orange.5', 'teal.7', 'pink.4', 'grape.7', 'lime.5', 'cyan.4', 'red.8'] as const;
const OTHERS_COLOUR = 'gray.5';

interface SpendingSectionProps {
  readonly period: Period;
  readonly by: 'model' | 'key';
  readonly onBy: (by: 'model' | 'key') => void;
}

export function SpendingSection({ period, by, onBy }: SpendingSectionProps) {
  const { data: usage, error, refetch, isPlaceholderData } = useUsage(period, by);
  const choice = (
    <SegmentedControl
      size="xs"
      aria-label={words.by}
      value={by}
      onChange={onBy}
      data={[
        { value: 'model', label: words.byModel },
        { value: 'key', label: words.byKey },
      ]}
    />
  );
  return (
    <Section title={words.title} actions={choice}>
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {usage === undefined ? (
        error === null ? (
          <LoadingState />
        ) : null
      ) : (
        <StaleContent isStale={isPlaceholderData} words={words.loading}>
          <Spent usage={usage} />
        </StaleContent>
      )}
    </Section>
  );
}

function Spent({ usage }: { readonly usage: Usage }) {
  const { keys } = useFilterChoices();
  const [isOpen, { toggle }] = useDisclosure(false);
  const spending = useMemo(() => spendingOf(usage), [usage]);
  // While other sums are loading the previous ones are shown, labelled as such.
  const by = usage.groupBy.includes('keyId') ? 'key' : 'model';
  const labelOf = (name: string | null): string =>
    name === null ? words.storage : ((by === 'key' ? keys.find(({ value }) => value === name)?.label : name) ?? name);
  const drawn: Drawn[] = spending.sums
    .slice(0, spending.drawn)
    .map(({ name }, index) => ({ label: labelOf(name), color: COLOURS[index] ?? OTHERS_COLOUR }));
  const others = spending.sums.length - spending.drawn;
  if (others > 0) drawn.push({ label: words.others(others), color: OTHERS_COLOUR });
  const { captured, count } = usage.total;
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        {words.sum(formatUsd(captured), count, formatDay(usage.from), formatDay(usage.to))}
      </Text>
      {usage.rows.length === 0 ? (
        <EmptyState icon={<IconChartBar size={32} aria-hidden />} title={words.none}>
          {words.noneHint}
        </EmptyState>
      ) : (
        <>
          <Box role="img" aria-label={words.chart(by)}>
            <Suspense fallback={<Center h={280}>{words.loadingChart}</Center>}>
              <SpendingChart days={spending.days} series={drawn} />
            </Suspense>
          </Box>
          <SumTable spending={spending} drawn={drawn} by={by} labelOf={labelOf} total={usage.total} />
          <Button variant="default" size="xs" mr="auto" onClick={toggle} aria-expanded={isOpen}>
            {isOpen ? words.hideDays : words.showDays}
          </Button>
          {isOpen ? <DayTable days={spending.days} drawn={drawn} /> : null}
        </>
      )}
    </Stack>
  );
}
