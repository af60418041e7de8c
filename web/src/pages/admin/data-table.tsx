/** A table that scrolls sideways by itself where it is too wide, by the keyboard too. */
import { Box, Table } from '@mantine/core';
import type { ReactNode } from 'react';

export function DataTable(props: {
  /** What it lists, for readers of the screen. */
  readonly label: string;
  /** By the columns; numbers stand at the end of theirs. */
  readonly columns: readonly { readonly name: string; readonly isNumber?: boolean }[];
  /** In pixels; below that it scrolls. */
  readonly minWidth: number;
  /** Whether no cell is broken into lines: ids and states are read as wholes. */
  readonly isUnbroken?: boolean;
  readonly children: ReactNode;
}) {
  const { label, columns, minWidth, isUnbroken = false, children } = props;
  return (
    <Box role="region" aria-label={label} tabIndex={0} style={{ overflowX: 'auto' }}>
      <Table
        miw={minWidth}
        verticalSpacing="xs"
        highlightOnHover
        // Links stay readable on it, which they are not on the usual one in the dark.
        highlightOnHoverColor="light-dark(var(--mantine-color-gray-1), var(--mantine-color-dark-6))"
        aria-label={label}
        {...(isUnbroken ? { style: { whiteSpace: 'nowrap' } } : {})}
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ name, isNumber = false }) => (
              <Table.Th key={name} scope="col" ta={isNumber ? 'end' : 'start'}>
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </Box>
  );
}
