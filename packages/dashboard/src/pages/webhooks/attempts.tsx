/** The delivery attempts of callbacks, over all tasks: newest first, older ones by page. */
import { Anchor, Badge, Group, Select, Table, Text } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useRef } from 'react';
import { Link } from 'wouter';
import { useAttempts } from '../../api/webhooks.ts';
import type { Attempt, AttemptFilter, DeliveryState } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { formatMilliseconds } from '../../components/quantities.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/webhooks.ts';
import { Section } from '../tasks/section.tsx';
import { RedeliverButton } from '../tasks/task-callback.tsx';

const COLOURS: Readonly<Record<DeliveryState, string>> = {
  waiting: 'gray',
  pending: 'blue',
  delivered: 'teal',
  exhausted: 'red',
  stopped: 'gray',
};
/** A callback that waits for its task has no attempts. */
const STATES = ['pending', 'delivered', 'exhausted', 'stopped'] as const satisfies readonly DeliveryState[];

interface AttemptsProps {
  readonly filter: AttemptFilter;
  readonly onFilter: (filter: AttemptFilter) => void;
  /** Endpoints that can be selected even if none of their attempts is shown. */
  readonly failingOrigins: readonly string[];
}

export function Attempts({ filter, onFilter, failingOrigins }: AttemptsProps) {
  const list = useAttempts(filter, true);
  const shown = useRef<HTMLParagraphElement>(null);
  const goFurtherBack = async (): Promise<void> => {
    const { hasNextPage } = await list.fetchNextPage();
    // The button is gone with the last page.
    if (!hasNextPage) shown.current?.focus();
  };
  const attempts = list.data?.pages.flatMap((page) => page.attempts) ?? [];
  const origins = attempts.map(({ origin }) => origin).filter((origin) => origin !== undefined);
  return (
    <Section
      title={texts.attempts.title}
      actions={
        <BusyButton
          size="xs"
          variant="default"
          leftSection={<IconRefresh size={14} aria-hidden />}
          isBusy={list.isRefetching}
          onClick={() => void list.refetch()}
        >
          {texts.attempts.refresh}
        </BusyButton>
      }
    >
      <Text size="sm" mb="sm">
        {texts.attempts.about}
      </Text>
      <Filters filter={filter} onFilter={onFilter} origins={[...failingOrigins, ...origins]} />
      {list.data === undefined ? (
        list.error === null ? (
          <LoadingState />
        ) : (
          <ErrorState error={list.error} onRetry={() => void list.refetch()} />
        )
      ) : (
        <>
          {attempts.length > 0 ? (
            <AttemptTable attempts={attempts} />
          ) : list.hasNextPage ? (
            <Text mt="md">{texts.attempts.noneSoFar}</Text>
          ) : (
            <Nothing isFiltered={filter.state !== undefined || filter.origin !== undefined} />
          )}
          {list.error === null ? null : <ErrorState error={list.error} />}
          <Group mt="sm" gap="sm">
            <Text ref={shown} size="sm" c="dimmed" role="status" tabIndex={-1}>
              {attempts.length === 0 ? null : texts.attempts.shown(attempts.length)}
            </Text>
            {list.hasNextPage ? (
              <BusyButton
                size="xs"
                variant="default"
                isBusy={list.isFetchingNextPage}
                onClick={() => void goFurtherBack()}
              >
                {texts.attempts.older}
              </BusyButton>
            ) : null}
          </Group>
        </>
      )}
    </Section>
  );
}

function Filters(props: Pick<AttemptsProps, 'filter' | 'onFilter'> & { readonly origins: readonly string[] }) {
  const { filter, onFilter, origins } = props;
  const offered = new Set(filter.origin === undefined ? origins : [filter.origin, ...origins]);
  return (
    <Group gap="sm" mb="sm">
      <Select
        label={texts.attempts.state}
        placeholder={texts.attempts.anyState}
        data={STATES.map((value) => ({ value, label: texts.attempts.states[value] }))}
        value={filter.state ?? null}
        onChange={(value) => onFilter({ ...filter, state: STATES.find((state) => state === value) })}
        clearable
        flex="1 1 12rem"
        maw="20rem"
      />
      <Select
        label={texts.attempts.endpoint}
        placeholder={texts.attempts.anyEndpoint}
        data={[...offered].toSorted()}
        value={filter.origin ?? null}
        onChange={(value) => onFilter({ ...filter, origin: value ?? undefined })}
        clearable
        flex="1 1 12rem"
        maw="24rem"
      />
    </Group>
  );
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <EmptyState title={isFiltered ? texts.attempts.noMatch : texts.attempts.none}>
      {isFiltered ? texts.attempts.noMatchHint : texts.attempts.noneHint}
    </EmptyState>
  );
}

function AttemptTable({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const { when, callback, attempt, response, took, state } = texts.attempts;
  return (
    <Table.ScrollContainer minWidth={720} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label={texts.attempts.list} verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            {[when, callback, attempt, response, took, state].map((name) => (
              <Table.Th key={name} style={{ whiteSpace: 'nowrap' }}>
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {attempts.map((each) => (
            <AttemptRow key={`${each.taskId} ${each.attempt}`} attempt={each} isLast={isLastOfTask(attempts, each)} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** Attempts are listed newest first. */
function isLastOfTask(attempts: readonly Attempt[], { taskId, attempt }: Attempt): boolean {
  return attempts.find((each) => each.taskId === taskId)?.attempt === attempt;
}

/** @param isLast whether no later attempt of the task is listed: that one offers to deliver again. */
function AttemptRow({
  attempt: { taskId, url, state, attempt, at, durationMs, status, errorClass },
  isLast,
}: {
  readonly attempt: Attempt;
  readonly isLast: boolean;
}) {
  const hasEnded = state !== 'waiting' && state !== 'pending';
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Time seconds={at} />
      </Table.Td>
      <Table.Td>
        <Text size="sm">{url ?? texts.attempts.erased}</Text>
        <Anchor
          component={Link}
          href={`/tasks/${encodeURIComponent(taskId)}`}
          size="xs"
          underline="always"
          ff="monospace"
        >
          {taskId}
        </Anchor>
      </Table.Td>
      <Table.Td>{attempt}</Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>{texts.attempts.outcome({ status, errorClass })}</Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>{durationMs === null ? '–' : formatMilliseconds(durationMs)}</Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Badge color={COLOURS[state]} variant="light" tt="none">
            {texts.attempts.states[state]}
          </Badge>
          {isLast && hasEnded && url !== undefined ? <RedeliverButton taskId={taskId} /> : null}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
