/** One model: what it does, its input, its price, and how to call it from a program. */
import { Anchor, Box, Button, Code, Grid, Group, List, Paper, Stack, Text, Title } from '@mantine/core';
import { IconArrowLeft, IconQuestionMark, IconSparkles } from '@tabler/icons-react';
import { useId } from 'react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../../api/api.ts';
import { useModel } from '../../api/models.ts';
import type { ModelDetail } from '../../api/models.ts';
import { CodeBlock, CopyIcon } from '../../components/copy.tsx';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay, useSession } from '../../session/session.tsx';
import { texts } from '../../texts/models.ts';
import { DeprecationNote } from './deprecation.tsx';
import { playgroundPath } from './model-paths.ts';
import { priceWords } from './price-words.ts';
import { RequestCodeTabs } from './request-code-tabs.tsx';
import { chatCode, taskCode } from './request-code.ts';
import { SampleView } from './sample-view.tsx';
import { samples } from './samples.ts';
import { SchemaTable } from './schema-table.tsx';

/** @param name with its slashes. */
export default function ModelPage({ name }: { readonly name: string }) {
  const mayRead = useMay('models:read');
  const { data: model, error, refetch } = useModel(mayRead ? name : undefined);
  const isUnknown = error instanceof ApiError && error.kind === 'not_found';
  return (
    <>
      <Anchor component={Link} href="/models" size="sm" c="inherit" underline="always">
        <Group gap={4} component="span" display="inline-flex" mb="xs">
          <IconArrowLeft size={14} aria-hidden />
          {texts.allModels}
        </Group>
      </Anchor>
      {model !== undefined ? (
        <ModelView model={model} />
      ) : (
        <>
          <PageHeader title={name} />
          {!mayRead ? (
            <NeedsScope scope="models:read" action={texts.see} />
          ) : isUnknown ? (
            <EmptyState icon={<IconQuestionMark size={32} aria-hidden />} title={texts.noSuchModel}>
              {texts.noSuchModelHint}
            </EmptyState>
          ) : error !== null ? (
            <ErrorState error={error} onRetry={() => void refetch()} />
          ) : (
            <LoadingState />
          )}
        </>
      )}
    </>
  );
}

function ModelView({ model }: { readonly model: ModelDetail }) {
  const isText = model.modality === 'text';
  return (
    <>
      <PageHeader
        title={model.id}
        actions={
          <Button component={Link} href={playgroundPath(model.id)} leftSection={<IconSparkles size={16} aria-hidden />}>
            {texts.openPlayground}
          </Button>
        }
      >
        <Group gap={4}>
          <Text span size="sm" c="var(--mantine-color-text)">
            {texts.kinds[model.modality]} {texts.by(model.owned_by)}
          </Text>
          <CopyIcon value={model.id} what={texts.copyName} />
        </Group>
      </PageHeader>
      <DeprecationNote model={model} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 8 }} order={{ base: 2, lg: 1 }}>
          <Stack gap="lg">
            <Text maw="70ch">{model.description}</Text>
            <Part title={texts.requestTitle} hint={<KeyHint />}>
              <Request model={model} />
            </Part>
            <Part title={isText ? texts.bodyTitle : texts.inputTitle} hint={isText ? texts.bodyHint : texts.inputHint}>
              <SchemaTable schema={model.input_schema} />
            </Part>
            {isText ? null : <Examples model={model} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }} order={{ base: 1, lg: 2 }}>
          <Stack gap="lg">
            <Sample model={model} />
            <Price model={model} />
            {model.text === undefined ? null : <Abilities text={model.text} />}
            {model.routes.length > 1 ? <Routes routes={model.routes} /> : null}
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}

function Part(props: { readonly title: string; readonly hint?: ReactNode; readonly children: ReactNode }) {
  const id = useId();
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={id}>
      <Title order={2} size="h5" id={id} mb={4}>
        {props.title}
      </Title>
      {props.hint === undefined ? null : (
        <Text size="sm" mb="sm" component="div">
          {props.hint}
        </Text>
      )}
      {props.children}
    </Paper>
  );
}

function KeyHint() {
  return (
    <>
      {texts.requestHint}{' '}
      <Anchor component={Link} href="/keys" c="inherit" underline="always" inherit>
        {texts.createKey}
      </Anchor>
    </>
  );
}

function Request({ model }: { readonly model: ModelDetail }) {
  const { baseUrl } = useSession();
  const [example = {}] = model.examples;
  const code =
    model.modality === 'text'
      ? chatCode(baseUrl, { ...example, model: model.id })
      : taskCode(baseUrl, { model: model.id, input: example });
  return <RequestCodeTabs code={code} />;
}

function Examples({ model }: { readonly model: ModelDetail }) {
  return (
    <Part title={texts.examplesTitle}>
      <Stack>
        {model.examples.map((example, index) => (
          <Box key={index}>
            <Group justify="space-between" mb={4}>
              <Title order={3} size="h6">
                {texts.example(index + 1)}
              </Title>
              <Button
                component={Link}
                href={playgroundPath(model.id, { example: index })}
                size="compact-sm"
                variant="default"
                aria-label={texts.tryExampleNumber(index + 1)}
              >
                {texts.tryExample}
              </Button>
            </Group>
            <CodeBlock code={JSON.stringify(example, null, 2)} label={texts.example(index + 1)} />
          </Box>
        ))}
      </Stack>
    </Part>
  );
}

function Sample({ model }: { readonly model: ModelDetail }) {
  const sample = Object.hasOwn(samples, model.id) ? samples[model.id] : undefined;
  return (
    <Paper withBorder style={{ overflow: 'hidden' }}>
      <SampleView name={model.id} modality={model.modality} />
      {sample === undefined || sample.prompt === '' ? null : (
        <Text size="sm" p="sm">
          <Text span inherit fw={600}>
            {texts.sampleRequest}
          </Text>{' '}
          “{sample.prompt}”
        </Text>
      )}
    </Paper>
  );
}

function Price({ model }: { readonly model: ModelDetail }) {
  return (
    <Part title={texts.priceTitle}>
      <List size="sm" spacing={4} mb="xs">
        {priceWords(model.pricing).lines.map((line) => (
          <List.Item key={line}>{line}</List.Item>
        ))}
      </List>
      <Text size="sm">{model.modality === 'text' ? texts.textPriceNote : texts.priceNote}</Text>
    </Part>
  );
}

function Abilities({ text }: { readonly text: NonNullable<ModelDetail['text']> }) {
  return (
    <Part title={texts.limitsTitle}>
      <Text size="sm">
        {texts.contextTokens}: {texts.tokens(text.contextTokens)}
      </Text>
      <Text size="sm" mb="xs">
        {texts.maxOutputTokens}: {texts.tokens(text.maxOutputTokens)}
      </Text>
      <Text size="sm" mb={4}>
        {texts.features}
      </Text>
      <Group gap={4}>
        {text.features.map((feature) => (
          <Code key={feature}>{feature}</Code>
        ))}
      </Group>
    </Part>
  );
}

function Routes({ routes }: { readonly routes: readonly string[] }) {
  return (
    <Part title={texts.routesTitle} hint={texts.routesHint}>
      <Group gap={4}>
        {routes.map((route) => (
          <Code key={route}>{route}</Code>
        ))}
      </Group>
    </Part>
  );
}
