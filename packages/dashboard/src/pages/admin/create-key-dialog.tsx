/** Creates a key for an account, with any rights. The form is that of the account's owner, without restrictions. */
import {
  Button,
  Checkbox,
  Code,
  Fieldset,
  Group,
  Input,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import type { Scope } from '@darkroom/api/facts/scopes';
import { useCatalogue, useCreateAccountKey } from '../../api/admin.ts';
import type { MadeKey } from '../../api/admin.ts';
import { Dialog } from '../../components/dialog.tsx';
import { useNow } from '../../components/now.ts';
import { ErrorState } from '../../components/states.tsx';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';
import { texts as keyTexts } from '../../texts/keys.ts';
import { problemsOf, requestOf } from '../keys/new-key-form.ts';
import type { KeyForm, OwnRights } from '../keys/new-key-form.ts';

const { dialog } = keyTexts;
/** The operator's token allows everything. */
const UNLIMITED: OwnRights = { models: undefined, expiresAt: 0 };
const ALL_SCOPES = keyTexts.scopeGroups.flatMap(({ scopes }) => scopes);
const FIRST_SCOPES: readonly Scope[] = ['tasks:write', 'tasks:read', 'models:read'];

export function CreateKeyDialog(props: {
  readonly accountId: string;
  readonly onMade: (made: MadeKey) => void;
  readonly onClose: () => void;
}) {
  const [form, setForm] = useState<KeyForm>({
    name: '',
    scopes: FIRST_SCOPES,
    models: [],
    capDay: '',
    capTotal: '',
    lastDay: '',
  });
  const [isTried, setTried] = useState(false);
  const { data: catalogue } = useCatalogue();
  const create = useCreateAccountKey(props.accountId);
  const change = (changes: Partial<KeyForm>): void => setForm((before) => ({ ...before, ...changes }));
  const problems = problemsOf(form, UNLIMITED, useNow());
  const shown = isTried ? problems : {};

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(problems).length > 0) return;
    create.mutate(requestOf(form, UNLIMITED), { onSuccess: props.onMade });
  };
  return (
    <Dialog isOpen title={dialog.create} size="lg" onClose={props.onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label={dialog.name}
            description={dialog.nameHint}
            value={form.name}
            onChange={({ currentTarget }) => change({ name: currentTarget.value })}
            maxLength={100}
            error={shown.name}
            required
            data-autofocus
          />
          <Scopes chosen={form.scopes} onChange={(scopes) => change({ scopes })} problem={shown.scopes} />
          <TagsInput
            label={dialog.models}
            description={dialog.modelsHint}
            {...(form.models.length === 0 ? { placeholder: dialog.modelsPlaceholder } : {})}
            value={[...form.models]}
            onChange={(models) => change({ models })}
            data={catalogue?.models.map(({ name }) => name) ?? []}
          />
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            {(['capDay', 'capTotal'] as const).map((field) => (
              <TextInput
                key={field}
                label={texts.keys.caps[field]}
                placeholder={dialog.capPlaceholder}
                leftSection="$"
                inputMode="decimal"
                value={form[field]}
                onChange={({ currentTarget }) => change({ [field]: currentTarget.value })}
                error={shown[field]}
              />
            ))}
            <TextInput
              type="date"
              label={dialog.expiry}
              value={form.lastDay}
              onChange={({ currentTarget }) => change({ lastDay: currentTarget.value })}
              error={shown.lastDay}
            />
          </SimpleGrid>
          {create.error === null ? null : <ErrorState error={create.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={props.onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" isBusy={create.isPending}>
              {dialog.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function Scopes(props: {
  readonly chosen: readonly Scope[];
  readonly onChange: (scopes: readonly Scope[]) => void;
  readonly problem: string | undefined;
}) {
  const { chosen, onChange, problem } = props;
  return (
    <Fieldset legend={texts.keys.rights}>
      <Text size="sm" c="dimmed">
        {texts.keys.rightsHint}
      </Text>
      <Group gap="xs" my="xs">
        <Button size="compact-xs" variant="default" onClick={() => onChange(ALL_SCOPES)}>
          {texts.keys.all}
        </Button>
        <Button size="compact-xs" variant="default" onClick={() => onChange([])}>
          {texts.keys.nothing}
        </Button>
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs">
        {ALL_SCOPES.map((scope) => (
          <Checkbox
            key={scope}
            label={scope === 'dashboard' ? texts.keys.dashboard : keyTexts.scopes[scope]}
            description={<Code>{scope}</Code>}
            checked={chosen.includes(scope)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(checked ? [...chosen, scope] : chosen.filter((each) => each !== scope))
            }
            {...(problem === undefined ? {} : { 'aria-invalid': true })}
          />
        ))}
      </SimpleGrid>
      {problem === undefined ? null : <Input.Error mt="xs">{problem}</Input.Error>}
    </Fieldset>
  );
}
