/** The playground of a media model: the form of its input, the estimated cost, and the results. */
import { Box, Grid, Paper, Stack, Title } from '@mantine/core';
import { useSearch } from 'wouter';
import type { ModelDetail } from '../../api/models.ts';
import { useTaskInput } from '../../api/tasks-run.ts';
import type { Task } from '../../api/tasks.ts';
import { Note } from '../../components/note.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/playground.ts';
import { RequestCodeTabs } from '../models/request-code-tabs.tsx';
import { taskCode } from '../models/request-code.ts';
import type { Schema } from '../models/schema-rows.ts';
import { exampleInput, knownFields } from './input-data.ts';
import { RequestForm } from './request-form.tsx';
import { Results } from './results.tsx';
import { useDraft } from './use-draft.ts';
import type { Draft } from './use-draft.ts';

export default function MediaPlayground({ model }: { readonly model: ModelDetail }) {
  const query = new URLSearchParams(useSearch());
  const mayRead = useMay('tasks:read');
  const taskId = query.get('from') ?? undefined;
  const example = query.get('example');
  const { data: task, error, refetch } = useTaskInput(mayRead ? taskId : undefined);
  if (taskId !== undefined && mayRead && task === undefined && error === null) return <LoadingState />;
  return (
    <>
      {error === null ? null : (
        <>
          <Note color="orange" title={texts.fromFailed} mb="md" />
          <ErrorState error={error} onRetry={() => void refetch()} />
        </>
      )}
      {task === undefined ? null : (
        <Note color="gray" mb="md" role="status">
          {task.input === null ? texts.fromErased : texts.fromTask(task.taskId)}
        </Note>
      )}
      <Workbench
        key={`${taskId ?? ''} ${example ?? ''}`}
        model={model}
        prefill={task === undefined ? fromExample(model, example) : fromTask(model, task)}
      />
    </>
  );
}

function fromExample(model: ModelDetail, index: string | null): Draft | undefined {
  if (index === null || !/^\d+$/.test(index)) return undefined;
  return { input: exampleInput(model, Number(index)) };
}

function fromTask(model: ModelDetail, { input, route, storage }: Task): Draft {
  const schema = model.input_schema as Schema;
  return {
    input: knownFields(schema, input ?? {}),
    ...(route === undefined || !model.routes.includes(route) ? {} : { route }),
    storage,
  };
}

function Workbench({ model, prefill }: { readonly model: ModelDetail; readonly prefill: Draft | undefined }) {
  const { baseUrl } = useSession();
  const draft = useDraft(model, prefill);
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 6, xl: 5 }}>
        <RequestForm model={model} draft={draft} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6, xl: 7 }}>
        <Stack gap="lg">
          <Results model={model} onUse={draft.replace} />
          <Paper withBorder p="md" component="section" aria-labelledby="playground-code">
            <Title order={2} size="h5" id="playground-code" mb="sm">
              {texts.codeTitle}
            </Title>
            <Box>
              <RequestCodeTabs code={taskCode(baseUrl, draft.request)} />
            </Box>
          </Paper>
        </Stack>
      </Grid.Col>
    </Grid>
  );
}
