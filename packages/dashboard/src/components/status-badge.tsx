/** A task's status, as a word and a colour. */
import { Badge } from '@mantine/core';
import type { TaskStatus } from '@darkroom/api/facts/task-status';
import { texts } from '../texts/common.ts';

const COLOURS: Readonly<Record<TaskStatus, string>> = {
  queued: 'gray',
  handling: 'blue',
  archiving: 'indigo',
  success: 'teal',
  fail: 'red',
};

export function StatusBadge({ status }: { readonly status: TaskStatus }) {
  return (
    <Badge color={COLOURS[status]} variant="light" tt="none">
      {texts.status[status]}
    </Badge>
  );
}
