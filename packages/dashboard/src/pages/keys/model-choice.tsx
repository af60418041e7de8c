/** The models to which a new key is restricted. If they cannot be listed, their names are typed. */
import { MultiSelect, TagsInput } from '@mantine/core';
import { texts } from '../../texts/keys.ts';

const { creation: words } = texts;

export function ModelChoice(props: {
  /** Undefined: every model. */
  readonly allowed: readonly string[] | undefined;
  /** Undefined: they cannot be listed. */
  readonly names: readonly string[] | undefined;
  readonly chosen: readonly string[];
  readonly onChange: (models: readonly string[]) => void;
  readonly error: string | undefined;
}) {
  const { allowed, names, chosen, onChange, error } = props;
  const offered = allowed ?? names;
  const shared = {
    label: words.models,
    value: [...chosen],
    onChange,
    error,
    clearable: true,
    ...(chosen.length === 0 && allowed === undefined ? { placeholder: words.modelsPlaceholder } : {}),
  };
  if (offered === undefined) return <TagsInput {...shared} description={words.unlistedModelsHint} />;
  return (
    <MultiSelect
      {...shared}
      description={allowed === undefined ? words.modelsHint : words.restrictedModelsHint}
      data={[...offered]}
      searchable
    />
  );
}
