/** Why a task failed, and whether a retry helps. */
import { Alert, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle, IconBan } from '@tabler/icons-react';
import type { Task } from '../../api/tasks.ts';
import { texts } from '../../texts/tasks.ts';

export function TaskFailure({ error }: { readonly error: NonNullable<Task['error']> }) {
  if (error.code === 'TASK_CANCELLED') {
    return (
      <Alert color="gray" icon={<IconBan aria-hidden />} title={texts.cancelledTitle}>
        <Text size="sm">{texts.cancelledHint}</Text>
      </Alert>
    );
  }
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={texts.failedTitle}>
      <Text size="sm">{error.message}</Text>
      <Text size="sm" mt="xs">
        {error.retryable ? texts.retryable : texts.notRetryable}
      </Text>
      <Group gap="lg" mt="sm">
        {error.field === undefined ? null : <Word name={texts.errorField} word={error.field} />}
        {error.reason === undefined ? null : <Word name={texts.errorReason} word={error.reason} />}
        <Word name={texts.errorCode} word={error.code} />
      </Group>
    </Alert>
  );
}

function Word({ name, word }: { readonly name: string; readonly word: string }) {
  return (
    <Text size="sm">
      {name}: <Code>{word}</Code>
    </Text>
  );
}
