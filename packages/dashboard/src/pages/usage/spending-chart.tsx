/** Spending by day as stacked bars. Loaded separately: the chart library is large. */
import { BarChart } from '@mantine/charts';
import '@mantine/charts/styles.css';
import { amountOf, drawnUsd } from '../../components/amounts.ts';
import { formatUsd } from '../../components/money.ts';
import { formatDay, formatShortDay } from './days.ts';
import type { Spending } from './spending-sums.ts';

interface SpendingChartProps {
  readonly days: Spending['days'];
  /** Of the bars, in the order of each day's parts. */
  readonly series: readonly { readonly label: string; readonly color: string }[];
}

export default function SpendingChart({ days, series }: SpendingChartProps) {
  return (
    <BarChart
      h={280}
      type="stacked"
      dataKey="day"
      data={days.map(({ day, parts }) => ({
        day,
        ...Object.fromEntries(parts.map((micros, index) => [nameOf(index), drawnUsd(micros)])),
      }))}
      series={series.map(({ label, color }, index) => ({ name: nameOf(index), label, color }))}
      maxBarWidth={36}
      valueFormatter={formatDrawn}
      xAxisProps={{ tickFormatter: formatShortDay, minTickGap: 24 }}
      yAxisProps={{ width: 72 }}
      tooltipProps={{ labelFormatter: (day) => (typeof day === 'string' ? formatDay(day) : day) }}
      tooltipAnimationDuration={0}
      barProps={{ isAnimationActive: false }}
      // For screen readers the chart is one image; the numbers are in a table next to it.
      barChartProps={{ accessibilityLayer: false }}
    />
  );
}

/** Names with dots would be paths into the data. */
function nameOf(index: number): string {
  return `part${index}`;
}

/** Amounts are whole micro-USD: rounding gives the exact one back. */
function formatDrawn(usd: number): string {
  return formatUsd(amountOf(BigInt(Math.round(usd * 1_000_000))));
}
