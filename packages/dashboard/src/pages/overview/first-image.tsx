/** The first image of a new account: a prompt, one button, the image, and the next steps. */
import {
  Box,
  Button,
  Grid,
  Group,
  Paper,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { IconBox, IconKey, IconSparkles, IconWand, IconWebhook } from '@tabler/icons-react';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { Link } from 'wouter';
import { useModels } from '../../api/models.ts';
import type { Model } from '../../api/models.ts';
import { useTask, useTaskEvents } from '../../api/task.ts';
import { pressFor, useCreateTask } from '../../api/tasks-run.ts';
import { isOver } from '../../api/tasks.ts';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { texts as playgroundTexts } from '../../texts/playground.ts';
import { texts } from '../../texts/overview.ts';
import { playgroundPath } from '../models/model-paths.ts';
import { priceWords } from '../models/price-words.ts';
import { RequestCodeTabs } from '../models/request-code-tabs.tsx';
import { taskCode } from '../models/request-code.ts';
import { SampleView } from '../models/sample-view.tsx';
import { Ended, Running } from '../playground/run-view.tsx';
import classes from './overview.module.css';

/** The model of the first image: it needs only a prompt, and no external provider. */
const FIRST_MODEL = 'darkroom/scene';

interface FirstImageProps {
  /** Decimal USD; undefined: not known. */
  readonly available: string | undefined;
  readonly onStart: () => void;
}

export function FirstImage({ available, onStart }: FirstImageProps) {
  const mayRead = useMay('models:read');
  const { data: models, error, refetch } = useModels(mayRead);
  const model = models?.find(({ id }) => id === FIRST_MODEL);
  if (mayRead && models === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  if (model === undefined) {
    // An operator may have removed it: there is a playground for every other model.
    return (
      <EmptyState
        icon={<IconSparkles size={32} aria-hidden />}
        title={texts.firstTitle}
        action={
          <Button component={Link} href="/playground">
            {texts.toPlayground}
          </Button>
        }
      >
        {texts.aboutNew}
      </EmptyState>
    );
  }
  return <FirstRun model={model} hasNoBalance={available === '0'} onStart={onStart} />;
}

function FirstRun({
  model,
  hasNoBalance,
  onStart,
}: {
  readonly model: Model;
  readonly hasNoBalance: boolean;
  readonly onStart: () => void;
}) {
  const { baseUrl } = useSession();
  const [prompt, setPrompt] = useState<string>(texts.firstPrompt);
  const [taskId, setTaskId] = useState<string>();
  const create = useCreateTask((created) => {
    setTaskId(created);
    onStart();
  });
  const request = { model: model.id, input: { prompt, aspect_ratio: '3:2' } };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate(pressFor(request));
  };
  return (
    <Stack gap="lg">
      <Paper withBorder p="lg" component="section" aria-labelledby="first-image">
        <Grid gap="xl">
          <Grid.Col span={{ base: 12, md: 5 }}>
            <form onSubmit={submit}>
              <Stack>
                <Box>
                  <Title order={2} size="h3" id="first-image">
                    {texts.firstTitle}
                  </Title>
                  <Text size="sm">{texts.firstAbout(model.id, priceWords(model.pricing).short)}</Text>
                </Box>
                <Textarea
                  label={texts.prompt}
                  autosize
                  minRows={3}
                  maxRows={8}
                  maxLength={4000}
                  value={prompt}
                  onChange={({ currentTarget }) => setPrompt(currentTarget.value)}
                />
                <Group>
                  <BusyButton
                    type="submit"
                    size="md"
                    isBusy={create.isPending}
                    disabled={prompt.trim() === '' || hasNoBalance}
                    leftSection={<IconWand size={18} aria-hidden />}
                  >
                    {texts.generate}
                  </BusyButton>
                </Group>
                {hasNoBalance ? <Text size="sm">{texts.noBalance}</Text> : null}
                {create.error === null ? null : (
                  <ErrorState
                    error={create.error}
                    onRetry={() => create.variables !== undefined && create.mutate(create.variables)}
                  />
                )}
              </Stack>
            </form>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 7 }}>
            {taskId === undefined ? <Teaser /> : <FirstResult key={taskId} taskId={taskId} />}
          </Grid.Col>
        </Grid>
      </Paper>
      {taskId === undefined ? null : <Next />}
      <Paper withBorder p="lg" component="section" aria-labelledby="first-code">
        <Title order={2} size="h5" id="first-code">
          {texts.codeTitle}
        </Title>
        <Text size="sm" mb="sm">
          {texts.codeAbout}
        </Text>
        <RequestCodeTabs code={taskCode(baseUrl, request)} />
      </Paper>
    </Stack>
  );
}

/** A preview of the result while there is none yet. */
function Teaser() {
  return (
    <Stack gap="xs">
      <Paper style={{ overflow: 'hidden' }}>
        <SampleView name={FIRST_MODEL} modality="image" />
      </Paper>
      <Text size="sm">{texts.firstSample}</Text>
    </Stack>
  );
}

function FirstResult({ taskId }: { readonly taskId: string }) {
  const { data: task, error, refetch } = useTask(taskId);
  useTaskEvents(taskId, task === undefined || !isOver(task.status));
  if (task === undefined)
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <VisuallyHidden role="status">{playgroundTexts.stages[task.status]}</VisuallyHidden>
      {isOver(task.status) ? <Ended task={task} /> : <Running task={task} />}
    </>
  );
}

function Next() {
  const steps = [
    {
      href: playgroundPath(FIRST_MODEL),
      Icon: IconSparkles,
      name: texts.next.playground,
      about: texts.next.playgroundAbout,
    },
    { href: '/models', Icon: IconBox, name: texts.next.models, about: texts.next.modelsAbout },
    { href: '/keys', Icon: IconKey, name: texts.next.key, about: texts.next.keyAbout },
    { href: '/webhooks', Icon: IconWebhook, name: texts.next.webhooks, about: texts.next.webhooksAbout },
  ];
  return (
    <section aria-labelledby="first-next">
      <Title order={2} size="h5" id="first-next">
        {texts.nextTitle}
      </Title>
      <Text size="sm" mb="sm">
        {texts.nextDone}
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="md">
        {steps.map(({ href, Icon, name, about }) => (
          <Link key={href} href={href} className={classes['next']}>
            <Icon size={22} aria-hidden />
            <Text fw={600} mt={4}>
              {name}
            </Text>
            <Text size="sm">{about}</Text>
          </Link>
        ))}
      </SimpleGrid>
    </section>
  );
}
