/** One task: its input, its progress, its outputs, and its actions. */
import { Anchor, Box, Grid, Group, Progress, Stack, Text, VisuallyHidden } from '@mantine/core';
import { IconArrowLeft, IconQuestionMark } from '@tabler/icons-react';
import { useEffect } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../../api/api.ts';
import { isDelivering, useTask } from '../../api/task.ts';
import { isOver } from '../../api/tasks.ts';
import type { Task } from '../../api/tasks.ts';
import { CopyIcon } from '../../components/copy.tsx';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { useMay } from '../../session/session.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/tasks.ts';
import { TaskActions } from './task-actions.tsx';
import { TaskCallback } from './task-callback.tsx';
import { TaskFacts } from './task-facts.tsx';
import { TaskFailure } from './task-failure.tsx';
import { TaskInput } from './task-input.tsx';
import { TaskOutputs } from './task-outputs.tsx';
import { TaskTimeline } from './task-timeline.tsx';

export default function TaskPage({ taskId }: { readonly taskId: string }) {
  const mayRead = useMay('tasks:read');
  return (
    <>
      <Anchor component={Link} href="/tasks" size="sm" c="inherit" underline="always">
        <Group gap={4} component="span" display="inline-flex" mb="xs">
          <IconArrowLeft size={14} aria-hidden />
          {texts.allTasks}
        </Group>
      </Anchor>
      {mayRead ? <ReadableTask key={taskId} taskId={taskId} /> : <NotAllowed />}
    </>
  );
}

function NotAllowed() {
  return (
    <>
      <PageHeader title={texts.task} />
      <NeedsScope scope="tasks:read" action={texts.readTasks} />
    </>
  );
}

function ReadableTask({ taskId }: { readonly taskId: string }) {
  const { data: task, error, refetch } = useTask(taskId);
  // After navigation from far down the list this page starts at the top.
  useEffect(() => window.scrollTo({ top: 0, behavior: 'instant' }), []);
  if (task !== undefined) return <TaskView task={task} />;
  if (error === null) {
    return (
      <>
        <PageHeader title={texts.task} />
        <LoadingState />
      </>
    );
  }
  const isUnknown = error instanceof ApiError && error.kind === 'not_found';
  return (
    <>
      <PageHeader title={texts.task}>{taskId}</PageHeader>
      {isUnknown ? (
        <EmptyState icon={<IconQuestionMark size={32} aria-hidden />} title={texts.noSuchTask}>
          {texts.noSuchTaskHint}
        </EmptyState>
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </>
  );
}

function TaskView({ task }: { readonly task: Task }) {
  const { taskId, model, status, progress } = task;
  const isRunning = !isOver(status);
  return (
    <>
      <PageHeader title={model} actions={<TaskActions task={task} />}>
        <Group gap="xs" mt={4}>
          <StatusBadge status={status} />
          <Text span size="sm" ff="monospace" c="var(--mantine-color-text)">
            {taskId}
          </Text>
          <CopyIcon value={taskId} what={texts.copyTaskId} />
        </Group>
      </PageHeader>
      <VisuallyHidden role="status">{texts.statusChanged(common.status[status])}</VisuallyHidden>
      {isRunning ? (
        <Box mb="lg">
          <Progress
            value={progress === undefined ? 100 : progress * 100}
            animated={status !== 'queued'}
            striped={progress === undefined}
            color={status === 'queued' ? 'gray' : 'blue'}
            aria-label={texts.progressLabel}
          />
          {progress === undefined ? null : (
            <Text size="sm" mt={4} aria-hidden>
              {texts.progress(progress)}
            </Text>
          )}
        </Box>
      ) : null}
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Stack gap="lg">
            {task.error === undefined ? <TaskOutputs task={task} /> : <TaskFailure error={task.error} />}
            <TaskInput input={task.input} />
            <TaskCallback task={task} />
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <Stack gap="lg">
            <TaskFacts task={task} />
            <TaskTimeline taskId={taskId} isAwaited={isRunning || isDelivering(task)} />
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}
