/** The chart's data in numbers: by model or key, which also explains its colours, and by day. */
import { Box, ColorSwatch, Group, Table, useMantineTheme, getThemeColor } from '@mantine/core';
import type { Usage } from '../../api/usage.ts';
import { amountOf, microsOf, percentOf } from '../../components/amounts.ts';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/usage.ts';
import { formatDay } from './days.ts';
import { NumberCell, NumbersTable } from './numbers-table.tsx';
import type { Spending } from './spending-sums.ts';

const { spending: words } = texts;

/** A series with its own colour in the chart. */
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
    <NumbersTable
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
              <Box miw="9rem" style={{ overflowWrap: 'anywhere' }}>
                {labelOf(name)}
              </Box>
            </Group>
          </Table.Th>
          <NumberCell>{name === null ? '–' : requests.toLocaleString('en')}</NumberCell>
          <NumberCell>{`${percentOf(micros, all).toFixed(1)}%`}</NumberCell>
          <NumberCell>{formatUsd(amountOf(micros))}</NumberCell>
        </Table.Tr>
      ))}
      <Table.Tr fw={600}>
        <Table.Th scope="row">{words.total}</Table.Th>
        <NumberCell isStrong>{total.count.toLocaleString('en')}</NumberCell>
        <Table.Td />
        <NumberCell isStrong>{formatUsd(total.captured)}</NumberCell>
      </Table.Tr>
    </NumbersTable>
  );
}

export function DayTable({ days, drawn }: { readonly days: Spending['days']; readonly drawn: readonly Drawn[] }) {
  return (
    <NumbersTable
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
          <Table.Th scope="row" fw={400} style={{ whiteSpace: 'nowrap' }}>
            {formatDay(day)}
          </Table.Th>
          {drawn.map(({ label }, index) => (
            <NumberCell key={label}>{spentOf(parts[index] ?? 0n)}</NumberCell>
          ))}
          <NumberCell isStrong>{spentOf(micros)}</NumberCell>
        </Table.Tr>
      ))}
    </NumbersTable>
  );
}

/** Zero is shown in muted text. */
function spentOf(micros: bigint): string {
  return micros === 0n ? '–' : formatUsd(amountOf(micros));
}
