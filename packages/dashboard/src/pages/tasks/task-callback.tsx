/** A task's callback: its receiver, its state, and each delivery attempt. */
import { Code, Group, Table, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { IconRefresh } from '@tabler/icons-react';
import { isDelivering, useCallbackAttempts, useTaskAction } from '../../api/task.ts';
import type { CallbackAttempts } from '../../api/task.ts';
import { isOver } from '../../api/tasks.ts';
import type { Task } from '../../api/tasks.ts';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { notify, notifyError } from '../../components/notify.ts';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/tasks.ts';
import { Fact, Facts, Section } from './section.tsx';

export function TaskCallback({ task }: { readonly task: Task }) {
  if (task.callback === undefined) return null;
  return <Callback task={task} callback={task.callback} />;
}

function Callback({ task, callback }: { readonly task: Task; readonly callback: NonNullable<Task['callback']> }) {
  const { state, attempts, nextAttempt } = callback;
  const version = `${state} ${attempts}`;
  const { data, error, refetch } = useCallbackAttempts(task.taskId, version);
  return (
    <Section
      title={texts.callback}
      actions={<Redeliver task={task} isErased={data !== undefined && data.url === undefined} />}
    >
      <Facts>
        <Fact name={texts.callbackStatus}>
          <span role="status">{texts.callbackState[state] ?? state}</span>
        </Fact>
        {data === undefined ? null : (
          <Fact name={texts.callbackUrl}>
            {data.url === undefined ? texts.callbackErased : <Code>{data.url}</Code>}
          </Fact>
        )}
        {nextAttempt === 0 ? null : (
          <Fact name={texts.nextAttempt}>
            <Time seconds={nextAttempt} />
          </Fact>
        )}
      </Facts>
      {data === undefined && error !== null ? <ErrorState error={error} onRetry={() => void refetch()} /> : null}
      {data === undefined && error === null ? <LoadingState /> : null}
      {data === undefined ? null : <Attempts attempts={data.attempts} />}
    </Section>
  );
}

function Attempts({ attempts }: { readonly attempts: CallbackAttempts['attempts'] }) {
  if (attempts.length === 0) return <Text size="sm">{texts.noAttempts}</Text>;
  return (
    <Table.ScrollContainer minWidth={420} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }} mt="sm">
      <Table aria-label={texts.attempts}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{texts.attempt}</Table.Th>
            <Table.Th>{texts.attemptAt}</Table.Th>
            <Table.Th>{texts.attemptStatus}</Table.Th>
            <Table.Th>{texts.attemptDuration}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {attempts.map((attempt) => (
            <Table.Tr key={attempt.attempt}>
              <Table.Td>{attempt.attempt}</Table.Td>
              <Table.Td>
                <Time seconds={attempt.at} />
              </Table.Td>
              <Table.Td>{answerOf(attempt)}</Table.Td>
              <Table.Td>{attempt.durationMs === null ? '–' : texts.milliseconds(attempt.durationMs)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function answerOf({ status, errorClass }: CallbackAttempts['attempts'][number]): string {
  if (status !== null) return `HTTP ${status}`;
  return errorClass === null ? texts.attemptInProgress : texts.attemptError[errorClass];
}

function Redeliver({ task, isErased }: { readonly task: Task; readonly isErased: boolean }) {
  if (isErased || !isOver(task.status) || isDelivering(task)) return null;
  return (
    <Group>
      <RedeliverButton taskId={task.taskId} />
    </Group>
  );
}

/** For a task whose delivery has ended; nothing without the permission. */
export function RedeliverButton({ taskId }: { readonly taskId: string }) {
  const mayWrite = useMay('tasks:write');
  const redelivery = useTaskAction(taskId, 'callback/redeliver');
  if (!mayWrite) return null;
  return (
    <BusyButton
      size="xs"
      variant="default"
      leftSection={<IconRefresh size={14} aria-hidden />}
      isBusy={redelivery.isPending}
      onClick={() =>
        redelivery.mutate(undefined, {
          onSuccess: () => notify(texts.redelivering),
          onError: (error) => notifyError({ message: error.message }),
        })
      }
    >
      {texts.redeliver}
    </BusyButton>
  );
}
