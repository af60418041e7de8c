/** A table that scrolls horizontally if it is too wide, also with the keyboard. */
import { Box, Table } from '@mantine/core';
import type { ReactNode } from 'react';

export function DataTable(props: {
  /** What it lists, for screen readers. */
  readonly label: string;
  /** In column order; numbers are right-aligned. */
  readonly columns: readonly { readonly name: string; readonly isNumber?: boolean }[];
  /** In pixels; below this width it scrolls. */
  readonly minWidth: number;
  /** Whether cells never wrap: ids and states are read as a whole. */
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
        // Links stay readable on this colour, unlike on the default one in dark mode.
        highlightOnHoverColor="light-dark(var(--mantine-color-gray-1), var(--mantine-color-dark-6))"
        aria-label={label}
        {...(isUnbroken ? { style: { whiteSpace: 'nowrap' } } : {})}
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ name, isNumber = false }) => (
              // A narrow column would otherwise break its name within a word (global.css).
              <Table.Th key={name} scope="col" ta={isNumber ? 'end' : 'start'} style={{ overflowWrap: 'break-word' }}>
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
