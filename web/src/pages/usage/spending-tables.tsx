/** What the chart draws, in numbers: by model or key, which explains its colours too, and by day. */
import { ColorSwatch, Group, Table, useMantineTheme, getThemeColor } from '@mantine/core';
import type { Usage } from '../../api/usage.ts';
import { amountOf, microsOf, percentOf } from '../../components/amounts.ts';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/usage.ts';
import { DataTable } from '../admin/data-table.tsx';
import { formatDay } from './days.ts';
import type { Spending } from './spending-sums.ts';

const { spending: words } = texts;

/** What has a colour of its own in the chart. */
export interface Drawn {
  readonly label: string;
  readonly color: string;
}

export function SumTable(props: {
  readonly spending: Spending;
  readonly drawn: readonly Drawn[];
  readonly by: 'model' | 'key';
  readonly labelOf: (name: string | null) => string;
  readonly total: Usage['total'];
}) {
  const { spending, drawn, by, labelOf, total } = props;
  const theme = useMantineTheme();
  const all = microsOf(total.captured);
  return (
    <DataTable
      label={words.sums[by]}
      minWidth={420}
      columns={[
        { name: words.names[by] },
        { name: words.requests, isNumber: true },
        { name: words.share, isNumber: true },
        { name: words.spent, isNumber: true },
      ]}
    >
      {spending.sums.map(({ name, micros, requests }, index) => (
        <Table.Tr key={name ?? ''}>
          <Table.Th scope="row" fw={400}>
            <Group gap="xs" wrap="nowrap">
              <ColorSwatch
                size={12}
                withShadow={false}
                color={getThemeColor((drawn[index] ?? drawn.at(-1))?.color, theme)}
                aria-hidden
              />
              {labelOf(name)}
            </Group>
          </Table.Th>
          <Table.Td ta="end">{name === null ? '–' : requests.toLocaleString('en')}</Table.Td>
          <Table.Td ta="end">{`${percentOf(micros, all).toFixed(1)} %`}</Table.Td>
          <Table.Td ta="end">{formatUsd(amountOf(micros))}</Table.Td>
        </Table.Tr>
      ))}
      <Table.Tr fw={600}>
        <Table.Th scope="row">{words.total}</Table.Th>
        <Table.Td ta="end">{total.count.toLocaleString('en')}</Table.Td>
        <Table.Td />
        <Table.Td ta="end">{formatUsd(total.captured)}</Table.Td>
      </Table.Tr>
    </DataTable>
  );
}

export function DayTable({ days, drawn }: { readonly days: Spending['days']; readonly drawn: readonly Drawn[] }) {
  return (
    <DataTable
      label={words.days}
      minWidth={240 + drawn.length * 130}
      columns={[
        { name: words.day },
        ...drawn.map(({ label }) => ({ name: label, isNumber: true })),
        { name: words.total, isNumber: true },
      ]}
    >
      {days.toReversed().map(({ day, parts, micros }) => (
        <Table.Tr key={day}>
          <Table.Th scope="row" fw={400}>
            {formatDay(day)}
          </Table.Th>
          {drawn.map(({ label }, index) => (
            <Table.Td key={label} ta="end">
              {spentOf(parts[index] ?? 0n)}
            </Table.Td>
          ))}
          <Table.Td ta="end" fw={600}>
            {spentOf(micros)}
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

/** Nothing says so quietly. */
function spentOf(micros: bigint): string {
  return micros === 0n ? '–' : formatUsd(amountOf(micros));
}
