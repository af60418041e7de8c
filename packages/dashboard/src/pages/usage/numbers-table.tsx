/** A table of amounts: words and numbers do not wrap, digits are aligned, and it scrolls if it is too wide. */
import { Box, Table } from '@mantine/core';
import type { ComponentProps, ReactNode } from 'react';
import { DataTable } from '../admin/data-table.tsx';

export function NumbersTable(props: ComponentProps<typeof DataTable>) {
  return (
    <Box style={{ overflowWrap: 'normal', fontVariantNumeric: 'tabular-nums' }}>
      <DataTable {...props} />
    </Box>
  );
}

/** @param props.isStrong whether it is a sum. */
export function NumberCell({
  children,
  isStrong = false,
}: {
  readonly children?: ReactNode;
  readonly isStrong?: boolean;
}) {
  return (
    <Table.Td ta="end" fz={13} fw={isStrong ? 600 : undefined} style={{ whiteSpace: 'nowrap' }}>
      {children}
    </Table.Td>
  );
}
