/** Ledger entries, each with its change and the balance after. */
import { Anchor, Badge, Box, Code, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useFilterChoices } from '../../api/filter-choices.ts';
import type { LedgerEntry } from '../../api/usage.ts';
import { ModelName } from '../../components/model-name.tsx';
import { formatUsd } from '../../components/money.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/usage.ts';
import { NumberCell, NumbersTable } from './numbers-table.tsx';

const { ledger: words } = texts;

export function LedgerTable({ entries }: { readonly entries: readonly LedgerEntry[] }) {
  const { keys } = useFilterChoices();
  const { columns } = words;
  return (
    <NumbersTable
      label={words.label}
      minWidth={960}
      columns={[
        { name: columns.at },
        { name: columns.kind },
        { name: columns.reference },
        { name: columns.by },
        { name: columns.available, isNumber: true },
        { name: columns.balance, isNumber: true },
        { name: columns.after, isNumber: true },
        { name: columns.balanceAfter, isNumber: true },
      ]}
    >
      {entries.map((entry) => (
        <Table.Tr key={entry.id}>
          <Table.Td style={{ whiteSpace: 'nowrap' }}>
            <Time seconds={entry.at} />
          </Table.Td>
          <Table.Td>
            {words.kinds[entry.kind]}
            {entry.isEstimated === true ? (
              <Badge variant="default" size="sm" tt="none" ml={6}>
                {words.estimated}
              </Badge>
            ) : null}
          </Table.Td>
          <Table.Td>
            <Box miw="12.25rem" style={{ overflowWrap: 'anywhere' }}>
              <Reference reference={entry.reference} />
            </Box>
          </Table.Td>
          <Table.Td>
            <Box miw="9rem" style={{ overflowWrap: 'anywhere' }}>
              <Text size="sm">{entry.model === null ? '–' : <ModelName name={entry.model} />}</Text>
              {entry.keyId === null ? null : (
                <Text size="xs" c="dimmed">
                  {keys.find(({ value }) => value === entry.keyId)?.label ?? entry.keyId}
                </Text>
              )}
            </Box>
          </Table.Td>
          <NumberCell>{changeOf(entry.availableChange)}</NumberCell>
          <NumberCell>{changeOf(entry.balanceChange)}</NumberCell>
          <NumberCell>{formatUsd(entry.available)}</NumberCell>
          <NumberCell>{formatUsd(entry.balance)}</NumberCell>
        </Table.Tr>
      ))}
    </NumbersTable>
  );
}

function Reference({ reference }: { readonly reference: string }) {
  if (!reference.startsWith('tk-svc-')) return <Code>{reference}</Code>;
  return (
    <Anchor
      component={Link}
      href={`/tasks/${encodeURIComponent(reference)}`}
      size="xs"
      ff="monospace"
      c="inherit"
      underline="always"
    >
      {reference}
    </Anchor>
  );
}

/** A change of zero is shown in muted text. */
function changeOf(amount: string): string {
  if (amount === '0') return '–';
  return amount.startsWith('-') ? formatUsd(amount) : `+${formatUsd(amount)}`;
}
