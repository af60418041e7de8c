/**
 * One task as an operator sees it, whichever account it belongs to: its state and its timeline, without input and
 * output.
 */
import { Anchor, Button, Code, Group, SimpleGrid, Text, Timeline } from '@mantine/core';
import { IconArrowLeft, IconExternalLink } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useAdminTask } from '../../api/admin.ts';
import type { AdminTask } from '../../api/admin.ts';
import { ApiError } from '../../api/api.ts';
import { CopyIcon } from '../../components/copy.tsx';
import { Amount } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-service.ts';
import { texts as taskTexts } from '../../texts/tasks.ts';
import { Fact, Facts, Section } from '../tasks/section.tsx';

const { task: words } = texts;

export default function TaskPage({ taskId }: { readonly taskId: string }) {
  const { data: task, error, refetch } = useAdminTask(taskId);
  const isUnknown = error instanceof ApiError && error.kind === 'not_found';
  return (
    <>
      <Anchor component={Link} href="/service" size="sm">
        <Group gap={4} component="span" display="inline-flex">
          <IconArrowLeft size={14} aria-hidden />
          {words.back}
        </Group>
      </Anchor>
      <PageHeader
        title={words.title}
        actions={task?.workflowUrl === undefined ? undefined : <WorkflowLink url={task.workflowUrl} />}
      >
        <Group gap={6}>
          {task === undefined ? null : <StatusBadge status={task.status} />}
          <Code>{taskId}</Code>
          <CopyIcon value={taskId} what={words.copyId} />
        </Group>
      </PageHeader>
      {isUnknown ? <EmptyState title={words.noSuch}>{words.noSuchHint}</EmptyState> : null}
      {error === null || isUnknown ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {task === undefined ? error === null ? <LoadingState /> : null : <Details task={task} />}
    </>
  );
}

function WorkflowLink({ url }: { readonly url: string }) {
  return (
    <Button
      component="a"
      href={url}
      target="_blank"
      rel="noreferrer"
      variant="default"
      rightSection={<IconExternalLink size={16} aria-hidden />}
    >
      {words.workflow}
    </Button>
  );
}

function Details({ task }: { readonly task: AdminTask }) {
  const { accountId, keyId, callback, events, work, attempts } = task;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md" style={{ alignItems: 'start' }}>
      <Section title={words.facts}>
        <Facts>
          <Fact name={words.account}>
            <Anchor component={Link} href={`/accounts/${accountId}`} size="sm" ff="monospace">
              {accountId}
            </Anchor>
          </Fact>
          <Fact name={words.key}>
            <Code>{keyId}</Code>
          </Fact>
          <Fact name={words.model}>{task.model}</Fact>
          {task.reason === undefined ? null : (
            <Fact name={words.reason}>
              <Code>{task.reason}</Code>
            </Fact>
          )}
          {work === undefined ? null : (
            <Fact name={words.upstream}>
              {work.upstream} <Code>{work.jobId ?? work.state}</Code>
            </Fact>
          )}
          {attempts.length === 0 ? null : (
            <Fact name={words.attempts}>
              {attempts.map(({ upstream, outcome, reason }) => words.attempt(upstream, outcome, reason)).join(', ')}
            </Fact>
          )}
          <Fact name={words.created}>
            <Time seconds={task.created} />
          </Fact>
          <Fact name={words.started}>
            <Time seconds={task.started} none={words.notYet} />
          </Fact>
          <Fact name={words.completed}>
            <Time seconds={task.completed} none={words.notYet} />
          </Fact>
          <Fact name={words.held}>
            <Amount of={task.held} />
          </Fact>
          <Fact name={words.captured}>
            <Amount of={task.captured} />
          </Fact>
          <Fact name={words.outputs}>{task.outputs.toLocaleString('en')}</Fact>
          {callback === undefined ? null : (
            <Fact name={words.callback}>{words.callbackState(callback.state, callback.attempts)}</Fact>
          )}
        </Facts>
      </Section>
      <Section title={words.timeline}>
        <Timeline active={events.length} bulletSize={14} lineWidth={2}>
          {events.map(({ seq, at, type }) => (
            <Timeline.Item key={seq} title={<Text size="sm">{taskTexts.events[type] ?? type}</Text>}>
              <Text size="sm">
                <Time seconds={at} />
              </Text>
            </Timeline.Item>
          ))}
        </Timeline>
      </Section>
    </SimpleGrid>
  );
}
