/** The filters of the list: a search box for an id or a pair, and a choice for each filter of the API. */
import {
  Autocomplete,
  Button,
  Collapse,
  Group,
  MultiSelect,
  Pill,
  Select,
  SimpleGrid,
  Stack,
  TextInput,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAdjustmentsHorizontal, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useLocation } from 'wouter';
import { useFilterChoices } from '../../api/filter-choices.ts';
import { filterParameters } from '../../api/tasks.ts';
import type { TaskFilter } from '../../api/tasks.ts';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/tasks.ts';
import { MAX_PAIRS, STATUSES, fromLocalInput, isFiltered, searchOf, toLocalInput } from './filter-address.ts';

interface FiltersProps {
  readonly filter: TaskFilter;
  readonly onChange: (filter: TaskFilter) => void;
  readonly onClear: () => void;
}

export function TaskFilters({ filter, onChange, onClear }: FiltersProps) {
  const [isOpen, { toggle }] = useDisclosure(Object.keys(filterParameters(filter)).some((name) => name !== 'status'));
  return (
    <Stack gap="sm" mb="md" role="search" aria-label={texts.filters}>
      <Group gap="sm" align="flex-start">
        <SearchBox filter={filter} onChange={onChange} />
        <MultiSelect
          aria-label={texts.statusFilter}
          placeholder={filter.statuses.length === 0 ? texts.anyStatus : ''}
          data={STATUSES.map((status) => ({ value: status, label: common.status[status] }))}
          value={[...filter.statuses]}
          onChange={(chosen) => onChange({ ...filter, statuses: STATUSES.filter((status) => chosen.includes(status)) })}
          clearable
          clearButtonProps={{ 'aria-label': texts.anyStatus }}
          w={{ base: '100%', xs: 'auto' }}
          miw="12rem"
        />
        <Button
          variant="default"
          leftSection={<IconAdjustmentsHorizontal size={16} aria-hidden />}
          onClick={toggle}
          aria-expanded={isOpen}
        >
          {texts.filters}
        </Button>
        {isFiltered(filter) ? (
          <Button variant="subtle" color="gray" onClick={onClear}>
            {texts.clearFilters}
          </Button>
        ) : null}
      </Group>
      <Collapse expanded={isOpen}>
        <MoreFilters filter={filter} onChange={onChange} />
      </Collapse>
      <Pairs filter={filter} onChange={onChange} />
    </Stack>
  );
}

type ChangeProps = Pick<FiltersProps, 'filter' | 'onChange'>;

function SearchBox({ filter, onChange }: ChangeProps) {
  const [text, setText] = useState('');
  const [searchError, setSearchError] = useState<string>();
  const [, navigate] = useLocation();

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const sought = searchOf(text);
    if (sought === undefined) {
      setSearchError(text.trim() === '' ? undefined : texts.searchError);
      return;
    }
    if (sought.by === 'id') {
      navigate(`/tasks/${sought.taskId}`);
      return;
    }
    const metadata = { ...filter.metadata, [sought.key]: sought.value };
    if (Object.keys(metadata).length > MAX_PAIRS) {
      setSearchError(texts.tooManyPairs);
      return;
    }
    setText('');
    onChange({ ...filter, metadata });
  };
  return (
    <form onSubmit={submit} style={{ flex: '1 1 16rem' }}>
      <TextInput
        type="search"
        aria-label={`${texts.search}: ${texts.searchHint}`}
        placeholder={texts.searchPlaceholder}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setSearchError(undefined);
        }}
        error={searchError}
        errorProps={{ role: 'alert' }}
        autoComplete="off"
        spellCheck={false}
        enterKeyHint="search"
      />
    </form>
  );
}

function MoreFilters({ filter, onChange }: ChangeProps) {
  const { models, keys } = useFilterChoices();
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
      <Model models={models} filter={filter} onChange={onChange} key={filter.model ?? ''} />
      <Select
        label={texts.keyFilter}
        placeholder={texts.anyKey}
        data={withChosen(keys, filter.keyId)}
        value={filter.keyId ?? null}
        onChange={(keyId) => onChange({ ...filter, keyId: keyId ?? undefined })}
        disabled={keys.length === 0 && filter.keyId === undefined}
        clearable
        searchable
      />
      <TimeInput
        label={texts.createdFrom}
        seconds={filter.createdAfter === undefined ? undefined : filter.createdAfter + 1}
        // The API's bound is exclusive; a user's “from” includes that moment.
        onChange={(seconds) => onChange({ ...filter, createdAfter: seconds === undefined ? undefined : seconds - 1 })}
      />
      <TimeInput
        label={texts.createdUntil}
        seconds={filter.createdBefore}
        onChange={(createdBefore) => onChange({ ...filter, createdBefore })}
      />
    </SimpleGrid>
  );
}

/** Models of old tasks may have left the catalogue, and routes are part of the name: any text is accepted. */
function Model({ models, filter, onChange }: ChangeProps & { readonly models: readonly string[] }) {
  const [text, setText] = useState(filter.model ?? '');
  const apply = (model: string): void => {
    const name = model.trim() || undefined;
    if (name !== filter.model) onChange({ ...filter, model: name });
  };
  return (
    <Autocomplete
      label={texts.modelFilter}
      placeholder={texts.anyModel}
      data={[...models]}
      value={text}
      onChange={setText}
      onOptionSubmit={apply}
      onBlur={() => apply(text)}
      onKeyDown={({ key }) => {
        if (key === 'Enter') apply(text);
      }}
      onClear={() => apply('')}
      clearable
      clearButtonProps={{ 'aria-label': texts.anyModel }}
      limit={50}
      maxLength={400}
    />
  );
}

function withChosen(
  choices: readonly { readonly value: string; readonly label: string }[],
  chosen: string | undefined,
): { value: string; label: string }[] {
  const isThere = chosen === undefined || choices.some(({ value }) => value === chosen);
  return [...choices, ...(isThere ? [] : [{ value: chosen, label: chosen }])];
}

function TimeInput(props: {
  readonly label: string;
  readonly seconds: number | undefined;
  readonly onChange: (seconds: number | undefined) => void;
}) {
  return (
    <TextInput
      type="datetime-local"
      label={props.label}
      value={props.seconds === undefined ? '' : toLocalInput(props.seconds)}
      onChange={({ currentTarget }) => props.onChange(fromLocalInput(currentTarget.value))}
    />
  );
}

function Pairs({ filter, onChange }: ChangeProps) {
  const pairs = Object.entries(filter.metadata);
  if (pairs.length === 0) return null;
  const remove = (key: string): void =>
    onChange({ ...filter, metadata: Object.fromEntries(pairs.filter(([name]) => name !== key)) });
  return (
    <Pill.Group>
      {pairs.map(([key, value]) => (
        <Pill
          key={key}
          size="md"
          withRemoveButton
          onRemove={() => remove(key)}
          removeButtonProps={{ 'aria-label': texts.removePair(key), tabIndex: 0, 'aria-hidden': false }}
        >
          {texts.metadataPair(key, value)}
        </Pill>
      ))}
    </Pill.Group>
  );
}
