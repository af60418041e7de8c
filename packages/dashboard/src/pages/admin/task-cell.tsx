/** A task in a table for operators: its id, which links to it, and below that its account and its model. */
import { Anchor, Text } from '@mantine/core';
import { Link } from 'wouter';
import { texts } from '../../texts/admin-service.ts';

export function TaskCell(props: {
  readonly taskId: string;
  /** Undefined: the task no longer exists. */
  readonly accountId: string | undefined;
  readonly model: string | undefined;
}) {
  const { taskId, accountId, model } = props;
  return (
    <>
      <Anchor component={Link} href={`/service/tasks/${taskId}`} size="sm" ff="monospace">
        {taskId}
      </Anchor>
      <Text size="xs" c="dimmed">
        {accountId === undefined ? (
          texts.repairs.gone
        ) : (
          <>
            {model} · <AccountLink accountId={accountId} />
          </>
        )}
      </Text>
    </>
  );
}

function AccountLink({ accountId }: { readonly accountId: string }) {
  return (
    <Anchor component={Link} href={`/accounts/${accountId}`} inherit ff="monospace" underline="always">
      {accountId}
    </Anchor>
  );
}
