/** Selects the model to try. */
import { Select } from '@mantine/core';
import { useLocation } from 'wouter';
import { MODALITIES } from '@darkroom/api/facts/modalities';
import type { Model } from '../../api/models.ts';
import { texts as modelTexts } from '../../texts/models.ts';
import { texts } from '../../texts/playground.ts';
import { playgroundPath } from '../models/model-paths.ts';

export function ModelPicker({ models, value }: { readonly models: readonly Model[]; readonly value: string }) {
  const [, navigate] = useLocation();
  const groups = MODALITIES.map((modality) => ({
    group: modelTexts.kinds[modality],
    items: models.filter((model) => model.modality === modality).map(({ id }) => id),
  })).filter(({ items }) => items.length > 0);
  return (
    <Select
      label={texts.model}
      placeholder={texts.modelPlaceholder}
      nothingFoundMessage={texts.noModelFound}
      data={groups}
      value={value}
      onChange={(name) => {
        if (name !== null) navigate(playgroundPath(name));
      }}
      searchable
      allowDeselect={false}
      styles={{ options: { maxHeight: '25rem' } }}
      w={{ base: '100%', xs: '22rem' }}
    />
  );
}
