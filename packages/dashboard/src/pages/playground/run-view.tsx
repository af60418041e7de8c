/** One run: its progress, its outputs or the reason of its failure, and the next steps. */
import { Anchor, Box, Button, Code, Group, Progress, SimpleGrid, Stack, Text, VisuallyHidden } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import {
  IconAlertTriangle,
  IconArrowsShuffle,
  IconExternalLink,
  IconPlugConnectedX,
  IconPlayerStopFilled,
  IconRefresh,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { UnreachableError } from '../../api/api.ts';
import { useTask, useTaskAction, useTaskEvents } from '../../api/task.ts';
import { pressFor, useCreateTask } from '../../api/tasks-run.ts';
import type { TaskRequest } from '../../api/task-request.ts';
import { isOver } from '../../api/tasks.ts';
import type { Task } from '../../api/tasks.ts';
import type { ModelDetail } from '../../api/models.ts';
import { DownloadButton } from '../../components/download-button.tsx';
import { Note } from '../../components/note.tsx';
import { MediaView } from '../../components/media-view.tsx';
import { formatUsd } from '../../components/money.ts';
import { formatSeconds } from '../../components/quantities.ts';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/playground.ts';
import type { Schema } from '../models/schema-rows.ts';
import { anotherSeed, mediaKindOf } from './input-data.ts';
import classes from './playground.module.css';
import type { Draft } from './use-draft.ts';
import { useRuns } from './use-runs.ts';
import type { Run } from './use-runs.ts';

interface RunViewProps {
  readonly run: Run;
  readonly model: ModelDetail;
  readonly onUse: (draft: Draft) => void;
}

export function RunView({ run, model, onUse }: RunViewProps) {
  const { data: task, error, failureReason, refetch } = useTask(run.taskId);
  useTaskEvents(run.taskId, task === undefined || !isOver(task.status));
  if (task === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <Stack gap="md">
      <VisuallyHidden role="status">{announcement(task)}</VisuallyHidden>
      {!isOver(task.status) && failureReason instanceof UnreachableError ? (
        <Note icon={<IconPlugConnectedX aria-hidden />} title={texts.lost} role="status">
          <Text size="sm">{texts.lostHint}</Text>
        </Note>
      ) : null}
      {isOver(task.status) ? <Ended task={task} /> : <Running task={task} />}
      <NextSteps {...{ run, task, model, onUse }} />
    </Stack>
  );
}

function announcement({ status, output = [], billing, error }: Task): string {
  if (status === 'success') return texts.done(output.length, formatUsd(billing.captured));
  if (error === undefined) return texts.stages[status];
  return error.code === 'TASK_CANCELLED' ? texts.cancelledTitle : `${texts.failedTitle}: ${error.message}`;
}

/** For keys that may create tasks but not read them. */
export function CreatedRun({ run }: { readonly run: Run }) {
  return (
    <Note title={texts.created} role="status">
      <Text size="sm">{texts.createdHint}</Text>
      <Code>{run.taskId}</Code>
    </Note>
  );
}

export function Running({ task }: { readonly task: Task }) {
  const { status, progress, created } = task;
  const cancellation = useTaskAction(task.taskId, 'cancel');
  const mayCancel = useMay('tasks:write');
  const elapsed = useElapsedSeconds(created);
  return (
    <Stack gap="sm">
      <Box className={classes['waiting']} />
      <Progress
        value={progress === undefined ? 100 : Math.max(4, progress * 100)}
        animated={status !== 'queued'}
        striped={progress === undefined}
        color={status === 'queued' ? 'gray' : 'blue'}
        aria-label={texts.progress}
      />
      <Group justify="space-between">
        <Text size="sm">
          {[
            texts.stages[status],
            ...(progress === undefined ? [] : [texts.percent(progress)]),
            texts.elapsed(formatSeconds(elapsed)),
          ].join(' · ')}
        </Text>
        {mayCancel ? (
          <BusyButton
            size="xs"
            variant="default"
            leftSection={<IconPlayerStopFilled size={14} aria-hidden />}
            isBusy={cancellation.isPending}
            onClick={() => cancellation.mutate()}
          >
            {texts.cancel}
          </BusyButton>
        ) : null}
      </Group>
      {cancellation.error === null ? null : <ErrorState error={cancellation.error} />}
    </Stack>
  );
}

/** @param sinceSeconds Unix; the clocks of two machines may differ. */
function useElapsedSeconds(sinceSeconds: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.floor(now / 1000) - sinceSeconds);
}

export function Ended({ task }: { readonly task: Task }) {
  const { status, model, output = [], error, billing, created, completed } = task;
  if (error !== undefined) {
    return (
      <Note
        color={error.code === 'TASK_CANCELLED' ? 'gray' : 'red'}
        icon={<IconAlertTriangle aria-hidden />}
        title={error.code === 'TASK_CANCELLED' ? texts.cancelledTitle : texts.failedTitle}
      >
        <Text size="sm">{error.message}</Text>
        <Text size="sm" mt="xs">
          {error.code === 'TASK_CANCELLED' ? null : error.retryable ? texts.retryable : texts.notRetryable}{' '}
          {texts.notCharged}.
        </Text>
      </Note>
    );
  }
  return (
    <Stack gap="sm">
      {output.length === 0 ? <Text>{texts.outputGone}</Text> : null}
      <SimpleGrid cols={output.length > 1 ? { base: 1, lg: 2 } : 1} spacing="md">
        {output.map((each, index) => (
          <Shown key={each.id} output={each} index={index} model={model} isOnly={output.length === 1} />
        ))}
      </SimpleGrid>
      <Group gap="xs">
        <StatusBadge status={status} />
        <Text size="sm">
          {texts.took(completed > created ? formatSeconds(completed - created) : texts.noSecond)} ·{' '}
          {texts.cost(formatUsd(billing.captured))}
        </Text>
      </Group>
    </Stack>
  );
}

function Shown({
  output,
  index,
  model,
  isOnly,
}: {
  readonly output: NonNullable<Task['output']>[number];
  readonly index: number;
  readonly model: string;
  readonly isOnly: boolean;
}) {
  // A fresh URL would restart a video each time: the first one is kept as long as it works.
  const [url, setUrl] = useState(output.url);
  return (
    <Stack gap={6} align="flex-start">
      <Box w="100%" onError={() => setUrl(output.url)}>
        <MediaView media={{ ...output, url }} alt={texts.outputAlt(index + 1, model)} />
      </Box>
      <DownloadButton url={output.url} label={isOnly ? undefined : texts.downloadNumber(index + 1)} />
    </Stack>
  );
}

function NextSteps({ run, task, model, onUse }: RunViewProps & { readonly task: Task }) {
  const { add } = useRuns();
  const create = useCreateTask((taskId, request) => add({ taskId, request }));
  const schema = model.input_schema as Schema;
  const { request } = run;
  const again = (changed: TaskRequest): void => create.mutate(pressFor(changed));
  const runWithNewSeed = (): void => {
    const seed = anotherSeed(schema);
    if (seed !== undefined) again({ ...request, input: { ...request.input, seed } });
  };
  const hasSeed = schema.properties?.['seed'] !== undefined && mediaKindOf(schema.properties['seed']) === undefined;
  return (
    <Box>
      <Group gap="xs">
        {task.status === 'fail' && task.error?.retryable !== false ? (
          <BusyButton
            size="xs"
            isBusy={create.isPending}
            leftSection={<IconRefresh size={14} aria-hidden />}
            onClick={() => again(request)}
          >
            {texts.retry}
          </BusyButton>
        ) : null}
        {task.status === 'success' && hasSeed ? (
          <BusyButton
            size="xs"
            variant="default"
            isBusy={create.isPending}
            leftSection={<IconArrowsShuffle size={14} aria-hidden />}
            onClick={runWithNewSeed}
          >
            {texts.otherSeed}
          </BusyButton>
        ) : null}
        {task.status === 'success' && !hasSeed ? (
          <BusyButton
            size="xs"
            variant="default"
            isBusy={create.isPending}
            leftSection={<IconRefresh size={14} aria-hidden />}
            onClick={() => again(request)}
          >
            {texts.runAgain}
          </BusyButton>
        ) : null}
        <Button size="xs" variant="default" onClick={() => onUse(request)}>
          {texts.reuseInput}
        </Button>
        <Anchor
          component={Link}
          href={`/tasks/${encodeURIComponent(task.taskId)}`}
          size="sm"
          c="inherit"
          underline="always"
        >
          <Group gap={4} component="span" display="inline-flex">
            <IconExternalLink size={14} aria-hidden />
            {texts.openTask}
          </Group>
        </Anchor>
      </Group>
      {create.error === null ? null : <ErrorState error={create.error} />}
    </Box>
  );
}
