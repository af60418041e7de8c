/** The filters of the ledger. */
import { Button, Group, NativeSelect, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FormEvent } from 'react';
import type { LedgerKind } from '@darkroom/api/facts/ledger-kinds';
import { useFilterChoices } from '../../api/filter-choices.ts';
import { texts } from '../../texts/usage.ts';
import type { UsageView } from './usage-address.ts';

const { ledger: words } = texts;
const KINDS = Object.keys(words.kinds) as readonly LedgerKind[];

export const NO_FILTER = { kind: undefined, keyId: undefined, reference: undefined } as const;

export function isNarrowed({ kind, keyId, reference }: UsageView): boolean {
  return kind !== undefined || keyId !== undefined || reference !== undefined;
}

interface LedgerFiltersProps {
  readonly view: UsageView;
  readonly onChange: (change: Partial<UsageView>) => void;
}

export function LedgerFilters({ view, onChange }: LedgerFiltersProps) {
  const { keys } = useFilterChoices();
  const { kind, keyId, reference, isAlways } = view;
  const isKnown = keyId === undefined || keys.some(({ value }) => value === keyId);
  return (
    <Group role="search" aria-label={words.filters} gap="sm" align="flex-end">
      <NativeSelect
        label={words.kind}
        value={kind ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ kind: KINDS.find((each) => each === value) })}
        data={[
          { value: '', label: words.anyKind },
          ...KINDS.map((each) => ({ value: each, label: words.kinds[each] })),
        ]}
      />
      {keys.length === 0 && isKnown ? null : (
        <Select
          label={words.key}
          placeholder={words.anyKey}
          data={[...keys, ...(isKnown ? [] : [{ value: keyId, label: keyId }])]}
          value={keyId ?? null}
          onChange={(chosen) => onChange({ keyId: chosen ?? undefined })}
          clearable
          clearButtonProps={{ 'aria-label': words.anyKey }}
          searchable
          w={{ base: '100%', xs: 240 }}
        />
      )}
      <Reference key={reference ?? ''} reference={reference} onChange={(next) => onChange({ reference: next })} />
      <NativeSelect
        label={words.when}
        value={isAlways ? 'always' : ''}
        onChange={({ currentTarget: { value } }) => onChange({ isAlways: value === 'always' })}
        data={[
          { value: '', label: words.inPeriod },
          { value: 'always', label: words.always },
        ]}
      />
      {isNarrowed(view) ? (
        <Button variant="subtle" color="gray" onClick={() => onChange(NO_FILTER)}>
          {words.clear}
        </Button>
      ) : null}
    </Group>
  );
}

/** Requested once it is completely typed. */
function Reference(props: {
  readonly reference: string | undefined;
  readonly onChange: (reference: string | undefined) => void;
}) {
  const [text, setText] = useState(props.reference ?? '');
  const apply = (): void => {
    const sought = text.trim() || undefined;
    if (sought !== props.reference) props.onChange(sought);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    apply();
  };
  return (
    <form onSubmit={submit} style={{ flex: '1 1 14rem' }}>
      <TextInput
        type="search"
        label={words.reference}
        placeholder={words.referencePlaceholder}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={apply}
        maxLength={300}
        autoComplete="off"
        spellCheck={false}
        enterKeyHint="search"
      />
    </form>
  );
}
