/** A section of a task's page: a heading and its content. Facts are shown as names with values. */
import { Box, Group, Paper, Text, Title } from '@mantine/core';
import { useId } from 'react';
import type { ReactNode } from 'react';

export function Section(props: { readonly title: string; readonly actions?: ReactNode; readonly children: ReactNode }) {
  const id = useId();
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={id}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5" id={id}>
          {props.title}
        </Title>
        {props.actions}
      </Group>
      {props.children}
    </Paper>
  );
}

export function Facts({ children }: { readonly children: ReactNode }) {
  return (
    <Box component="dl" m={0}>
      {children}
    </Box>
  );
}

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Group justify="space-between" gap="md" py={3} align="baseline" wrap="nowrap">
      <Text component="dt" size="sm" c="dimmed" style={{ flex: 'none' }}>
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} ta="end" miw={0}>
        {children}
      </Text>
    </Group>
  );
}
