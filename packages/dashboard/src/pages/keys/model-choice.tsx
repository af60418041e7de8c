/** The models to which a new key is restricted. If the session's key may not list models, their names are typed. */
import { MultiSelect, TagsInput } from '@mantine/core';
import { useModelNames } from '../../api/keys.ts';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/keys.ts';

const { dialog } = texts;

export function ModelChoice(props: {
  /** Undefined: every model. */
  readonly allowed: readonly string[] | undefined;
  readonly chosen: readonly string[];
  readonly onChange: (models: readonly string[]) => void;
  readonly problem: string | undefined;
}) {
  const { allowed, chosen, onChange, problem } = props;
  const mayList = useMay('models:read');
  const { data } = useModelNames(mayList && allowed === undefined);
  const offered = allowed ?? data;
  const shared = {
    label: dialog.models,
    value: [...chosen],
    onChange,
    error: problem,
    clearable: true,
    ...(chosen.length === 0 && allowed === undefined ? { placeholder: dialog.modelsPlaceholder } : {}),
  };
  if (offered === undefined) return <TagsInput {...shared} description={dialog.modelsTyped} />;
  return (
    <MultiSelect
      {...shared}
      description={allowed === undefined ? dialog.modelsHint : dialog.modelsOwnHint}
      data={[...offered]}
      searchable
    />
  );
}
