/** The filters of the gallery. */
import { Group, Pill, SegmentedControl, Select } from '@mantine/core';
import type { StorageFilter } from '../../api/storage.ts';
import { texts } from '../../texts/storage.ts';

interface FiltersProps {
  readonly filter: StorageFilter;
  readonly onChange: (filter: StorageFilter) => void;
}

const choices = <Value extends string>(names: Readonly<Record<Value, string>>) =>
  (Object.entries(names) as [Value, string][]).map(([value, label]) => ({ value, label }));

const TIERS = choices(texts.tiers);
const TYPES = choices(texts.types);
const STATUSES = choices(texts.statuses);

export function StorageFilters({ filter, onChange }: FiltersProps) {
  const { taskId } = filter;
  return (
    <Group gap="sm" mb="md" role="search" aria-label={texts.gallery}>
      <SegmentedControl
        aria-label={texts.tier}
        data={TIERS}
        value={filter.tier ?? ''}
        onChange={(tier) => onChange({ ...filter, tier: tier === '' ? undefined : tier })}
      />
      <Select
        aria-label={texts.type}
        placeholder={texts.anyType}
        data={TYPES}
        value={filter.type ?? null}
        onChange={(type) => onChange({ ...filter, type: type ?? undefined })}
        clearable
        w="10rem"
      />
      <Select
        aria-label={texts.status}
        placeholder={texts.anyStatus}
        data={STATUSES}
        value={filter.status ?? null}
        onChange={(status) => onChange({ ...filter, status: status ?? undefined })}
        clearable
        w="14rem"
      />
      {taskId === undefined ? null : (
        <Pill
          size="md"
          withRemoveButton
          onRemove={() => onChange({ ...filter, taskId: undefined })}
          removeButtonProps={{ 'aria-label': texts.clearTask, tabIndex: 0, 'aria-hidden': false }}
        >
          {texts.ofTask(taskId)}
        </Pill>
      )}
    </Group>
  );
}
