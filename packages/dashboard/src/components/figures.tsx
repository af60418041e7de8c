/** Amounts and counts that are read as a whole: one never breaks inside, whatever the width of the window and the zoom. */
import { Flex, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatUsd } from './money.ts';

/** @param props.of decimal USD, in the API's notation. */
export function Amount({ of }: { readonly of: string }) {
  return <span style={{ whiteSpace: 'nowrap' }}>{formatUsd(of)}</span>;
}

/** Several figures side by side, each at least as wide as its value: the others go to the next line. */
export function Figures({ children, label }: { readonly children: ReactNode; readonly label?: string }) {
  return (
    <Flex component="section" wrap="wrap" gap="lg" {...(label === undefined ? {} : { 'aria-label': label })}>
      {children}
    </Flex>
  );
}

/** @param props.children what is said about it. */
export function Figure(props: { readonly name: string; readonly value: ReactNode; readonly children?: ReactNode }) {
  return (
    <Paper withBorder p="md" {...FIGURE}>
      <Text size="sm">{props.name}</Text>
      <Text fz="clamp(1rem, 6.5vw, 1.625rem)" fw={650} lh={1.3} style={{ whiteSpace: 'nowrap' }}>
        {props.value}
      </Text>
      {props.children}
    </Paper>
  );
}

/** The smallest width is that of the value, which does not wrap. */
export const FIGURE = { flex: '1 1 12rem' } as const;
