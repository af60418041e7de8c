/** A task in a table of operators: its id, which leads to it, and below that whose it is and what makes it. */
import { Anchor, Text } from '@mantine/core';
import { Link } from 'wouter';
import { texts } from '../../texts/admin-service.ts';

export function TaskCell(props: {
  readonly taskId: string;
  /** Undefined: the task is not there any more. */
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
