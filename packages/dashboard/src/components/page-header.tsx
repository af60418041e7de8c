/** The header of a page: its name, a line about it, and its actions. */
import { Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

export function PageHeader(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}) {
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
      <Box>
        <Title order={1} size="h2">
          {props.title}
        </Title>
        {props.children === undefined ? null : (
          <Text c="dimmed" component="div">
            {props.children}
          </Text>
        )}
      </Box>
      <Group gap="xs">{props.actions}</Group>
    </Group>
  );
}
