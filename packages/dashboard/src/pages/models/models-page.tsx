/** The models by modality: each with a sample, what it does, and its price. */
import { Button, Group, SegmentedControl, Text, TextInput, Title } from '@mantine/core';
import { IconBox, IconSearch } from '@tabler/icons-react';
import { useSearchParams } from 'wouter';
import { MODALITIES } from '@darkroom/api/facts/modalities';
import { useModels } from '../../api/models.ts';
import type { Modality, Model } from '../../api/models.ts';
import { NeedsScope } from '../../components/needs-scope.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, ErrorState, LoadingState } from '../../components/states.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/models.ts';
import { ModelCard } from './model-card.tsx';
import classes from './models.module.css';

export default function ModelsPage() {
  const mayRead = useMay('models:read');
  const { data: models, error, refetch } = useModels(mayRead);
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      {!mayRead ? (
        <NeedsScope scope="models:read" action={texts.see} />
      ) : models !== undefined ? (
        <ModelList models={models} />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
    </>
  );
}

function ModelList({ models }: { readonly models: readonly Model[] }) {
  const [query, setQuery] = useSearchParams();
  const search = query.get('q') ?? '';
  const kind = MODALITIES.find((each) => each === query.get('kind'));
  const found = models.filter((model) => (kind === undefined || model.modality === kind) && matches(model, search));
  const set = (name: 'q' | 'kind', value: string): void =>
    setQuery(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  if (models.length === 0) {
    return (
      <EmptyState icon={<IconBox size={32} aria-hidden />} title={texts.none}>
        {texts.noneHint}
      </EmptyState>
    );
  }
  return (
    <>
      <Group mb="lg" gap="sm">
        <TextInput
          type="search"
          aria-label={texts.search}
          placeholder={texts.searchHint}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={({ currentTarget }) => set('q', currentTarget.value)}
          w={{ base: '100%', xs: '18rem' }}
        />
        <SegmentedControl
          aria-label={texts.kind}
          value={kind ?? ''}
          onChange={(value) => set('kind', value)}
          data={[
            { value: '', label: texts.all },
            ...MODALITIES.filter((each) => models.some(({ modality }) => modality === each)).map((each) => ({
              value: each,
              label: texts.kinds[each],
            })),
          ]}
          maw="100%"
        />
        <Text size="sm" role="status">
          {texts.found(found.length)}
        </Text>
      </Group>
      {found.length === 0 ? (
        <EmptyState
          icon={<IconSearch size={32} aria-hidden />}
          title={texts.noneMatch}
          action={
            <Button variant="default" onClick={() => setQuery({}, { replace: true })}>
              {texts.clear}
            </Button>
          }
        >
          {texts.noneMatchHint}
        </EmptyState>
      ) : (
        MODALITIES.map((each) => (
          <Section key={each} modality={each} models={found.filter(({ modality }) => modality === each)} />
        ))
      )}
    </>
  );
}

function Section({ modality, models }: { readonly modality: Modality; readonly models: readonly Model[] }) {
  if (models.length === 0) return null;
  const id = `models-${modality}`;
  return (
    <section aria-labelledby={id}>
      <Title order={2} size="h4" id={id} mb="sm">
        {texts.kinds[modality]}
      </Title>
      <ul className={classes['grid']}>
        {models.map((model) => (
          <ModelCard key={model.id} model={model} />
        ))}
      </ul>
    </section>
  );
}

/** Every word must occur somewhere in it. */
function matches({ id, description }: Model, search: string): boolean {
  const text = `${id} ${description}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
