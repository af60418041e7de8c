/**
 * The playground: the user selects a model and tries it in the way that suits it: with a form, or in a conversation.
 */
import { Anchor, Group } from '@mantine/core';
import { IconBox, IconQuestionMark } from '@tabler/icons-react';
import { Suspense } from 'react';
import { Link, Redirect } from 'wouter';
import { ApiError } from '../../api/api.ts';
import { useModel, useModels } from '../../api/models.ts';
import type { Model, ModelDetail } from '../../api/models.ts';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { lazyPage } from '../../components/load-page.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/playground.ts';
import { DeprecationNote } from '../models/deprecation.tsx';
import { modelPath, playgroundPath } from '../models/model-paths.ts';
import { ModelPicker } from './model-picker.tsx';

const MediaPlayground = lazyPage(() => import('./media-playground.tsx'));
const TextPlayground = lazyPage(() => import('./chat/text-playground.tsx'));

/** @param model with its slashes; undefined: one is selected. */
export default function PlaygroundPage({ model }: { readonly model?: string }) {
  const mayRead = useMay('models:read');
  const { data: models, error, refetch } = useModels(mayRead);
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      {!mayRead ? (
        <NeedsScope scope="models:read" action={texts.seeModels} />
      ) : models !== undefined ? (
        <Chosen models={models} name={model} />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
    </>
  );
}

function Chosen({ models, name }: { readonly models: readonly Model[]; readonly name: string | undefined }) {
  const first = models.find(({ modality, deprecation }) => modality === 'image' && deprecation === null) ?? models[0];
  if (first === undefined) {
    return (
      <EmptyState icon={<IconBox size={32} aria-hidden />} title={texts.noModels}>
        {texts.noModelsHint}
      </EmptyState>
    );
  }
  if (name === undefined) return <Redirect to={playgroundPath(simplest(models) ?? first.id)} replace />;
  return (
    <>
      <Group align="flex-end" mb="lg" gap="md">
        <ModelPicker models={models} value={name} />
        <Anchor component={Link} href={modelPath(name)} size="sm" c="inherit" underline="always" pb={8}>
          {texts.aboutModel}
        </Anchor>
      </Group>
      <Loaded key={name} name={name} />
    </>
  );
}

/** The model that needs nothing but a prompt and exists in every installation that did not remove it. */
function simplest(models: readonly Model[]): string | undefined {
  return models.find(({ id }) => id === 'darkroom/scene')?.id;
}

function Loaded({ name }: { readonly name: string }) {
  const { data: model, error, refetch } = useModel(name);
  if (model !== undefined) {
    return (
      <>
        <DeprecationNote model={model} />
        <Suspense fallback={<LoadingState />}>
          <Allowed model={model} />
        </Suspense>
      </>
    );
  }
  if (error === null) return <LoadingState />;
  if (error instanceof ApiError && error.kind === 'not_found') {
    return (
      <EmptyState icon={<IconQuestionMark size={32} aria-hidden />} title={texts.noSuchModel}>
        {texts.noSuchModelHint}
      </EmptyState>
    );
  }
  return <ErrorState error={error} onRetry={() => void refetch()} />;
}

function Allowed({ model }: { readonly model: ModelDetail }) {
  const mayCreate = useMay('tasks:write');
  const mayChat = useMay('text:write');
  if (model.modality === 'text') {
    return mayChat ? <TextPlayground model={model} /> : <NeedsScope scope="text:write" action={texts.chat} />;
  }
  return mayCreate ? <MediaPlayground model={model} /> : <NeedsScope scope="tasks:write" action={texts.runTasks} />;
}
