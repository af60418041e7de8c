/** The results of this session's runs: one of them large, the others in a list. */
import { Group, Paper, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { IconSparkles } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { useTask } from '../../api/task.ts';
import type { ModelDetail } from '../../api/models.ts';
import { EmptyState } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { useMay } from '../../session/session.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/playground.ts';
import { OutputThumbnail } from '../../components/output-thumbnail.tsx';
import classes from './playground.module.css';
import { CreatedRun, RunView } from './run-view.tsx';
import type { Draft } from './use-draft.ts';
import { useRuns } from './use-runs.ts';
import type { Run } from './use-runs.ts';

/** @param onUse fills the form with a run's input. */
export function Results({ model, onUse }: { readonly model: ModelDetail; readonly onUse: (draft: Draft) => void }) {
  const mayRead = useMay('tasks:read');
  const { runs } = useRuns();
  const ofModel = runs.filter(({ request }) => request.model === model.id);
  const [newest] = ofModel;
  const [chosen, choose] = useState<{ readonly taskId: string; readonly since: string | undefined }>();
  // A selection is replaced by a newer run.
  const current = ofModel.find(({ taskId }) => chosen?.since === newest?.taskId && taskId === chosen?.taskId) ?? newest;
  const resultRef = useRef<HTMLElement>(null);
  const lastShown = useRef(newest?.taskId);
  useEffect(() => {
    if (lastShown.current === newest?.taskId) return;
    lastShown.current = newest?.taskId;
    // In a narrow window the results are below the form.
    if (isBelowWindow(resultRef.current)) resultRef.current?.scrollIntoView({ block: 'start' });
  }, [newest?.taskId, lastShown, resultRef]);
  return (
    <Paper ref={resultRef} withBorder p="md" component="section" aria-labelledby="playground-result">
      <Title order={2} size="h5" id="playground-result" mb="sm">
        {texts.resultTitle}
      </Title>
      {current === undefined ? (
        <EmptyState icon={<IconSparkles size={32} aria-hidden />} title={texts.noResult}>
          {texts.noResultHint}
        </EmptyState>
      ) : mayRead ? (
        <RunView key={current.taskId} run={current} model={model} onUse={onUse} />
      ) : (
        <CreatedRun run={current} />
      )}
      {ofModel.length > 1 && mayRead ? (
        <>
          <Title order={3} size="h6" mt="lg" mb="xs">
            {texts.historyTitle}
          </Title>
          <Stack
            gap={2}
            component="ul"
            p={0}
            m={0}
            aria-label={texts.history}
            mah="20rem"
            style={{ overflowY: 'auto' }}
          >
            {ofModel.map((run) => (
              <HistoryItem
                key={run.taskId}
                run={run}
                isCurrent={run.taskId === current?.taskId}
                onChoose={() => choose({ taskId: run.taskId, since: newest?.taskId })}
              />
            ))}
          </Stack>
        </>
      ) : null}
    </Paper>
  );
}

function HistoryItem({
  run,
  isCurrent,
  onChoose,
}: {
  readonly run: Run;
  readonly isCurrent: boolean;
  readonly onChoose: () => void;
}) {
  const { data: task } = useTask(run.taskId);
  const preview = task?.output?.find(({ mimeType }) => mimeType.startsWith('image/')) ?? task?.output?.[0];
  const what = subjectOf(run);
  return (
    <li style={{ listStyle: 'none' }}>
      <UnstyledButton
        className={classes['run']}
        data-current={isCurrent || undefined}
        aria-current={isCurrent}
        onClick={onChoose}
        aria-label={texts.showRun(what, common.status[task?.status ?? 'queued'])}
      >
        <Group gap="sm" wrap="nowrap">
          <OutputThumbnail output={preview} size={44} />
          <Text size="sm" lineClamp={2} flex={1}>
            {what}
          </Text>
          <StatusBadge status={task?.status ?? 'queued'} />
        </Group>
      </UnstyledButton>
    </li>
  );
}

function isBelowWindow(element: HTMLElement | null): boolean {
  return element !== null && element.getBoundingClientRect().top > window.innerHeight / 2;
}

/** The prompt of the run; its id if there is none. */
function subjectOf({ request: { input }, taskId }: Run): string {
  const words = input['prompt'] ?? input['text'] ?? input['lyrics'];
  return typeof words === 'string' ? words : taskId;
}
