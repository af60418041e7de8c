/**
 * Creates a key: its name, its scopes, its caps and its expiry. Nothing beyond what its creator may grant is offered:
 * an account grants at most the rights of the session's key, an operator everything.
 */
import { Button, Fieldset, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { FormEvent } from 'react';
import type { CreatedKey, KeyActions } from '../../api/keys.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { useNow } from '../../components/now.ts';
import { ErrorState } from '../../components/states.tsx';
import { formatExact } from '../../components/time.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';
import { ModelChoice } from './model-choice.tsx';
import { requestOf, validateKeyForm } from './new-key-form.ts';
import type { Grantable, KeyForm } from './new-key-form.ts';
import { ScopeChoice } from './scope-choice.tsx';

const { creation: words } = texts;
const FIRST_SCOPES = ['tasks:write', 'tasks:read', 'models:read'] as const;

export function CreateKeyDialog(props: {
  readonly grantable: Grantable;
  /** Names of models that can be selected; undefined: they cannot be listed. */
  readonly modelNames: readonly string[] | undefined;
  readonly create: KeyActions['create'];
  readonly onCreated: (created: CreatedKey) => void;
  readonly onClose: () => void;
}) {
  const { grantable, modelNames, onCreated, onClose } = props;
  const { by, expiresAt } = grantable;
  const [form, setForm] = useState<KeyForm>(() => ({
    name: '',
    scopes: FIRST_SCOPES.filter((scope) => grantable.scopes.includes(scope)),
    models: [],
    capDay: '',
    capTotal: '',
    lastDay: '',
  }));
  const [isTried, setTried] = useState(false);
  const create = useMutation({ mutationFn: props.create });
  const change = (changes: Partial<KeyForm>): void => setForm((before) => ({ ...before, ...changes }));
  const errors = validateKeyForm(form, grantable, useNow());
  const shown = isTried ? errors : {};

  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(errors).length > 0) {
      focusFirstError(event.currentTarget);
      return;
    }
    create.mutate(requestOf(form, grantable), { onSuccess: onCreated });
  };
  return (
    <Dialog isOpen onClose={onClose} title={words.title} size="lg">
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label={words.name}
            description={words.nameHint}
            placeholder={words.namePlaceholder}
            value={form.name}
            onChange={({ currentTarget }) => change({ name: currentTarget.value })}
            maxLength={100}
            error={shown.name}
            required
            data-autofocus
          />
          <ScopeChoice
            available={grantable.scopes}
            hint={by === 'operator' ? words.operatorScopesHint : words.scopesHint}
            chosen={form.scopes}
            onChange={(scopes) => change({ scopes })}
            error={shown.scopes}
          />
          <ModelChoice
            allowed={grantable.models}
            names={modelNames}
            chosen={form.models}
            onChange={(models) => change({ models })}
            error={shown.models}
          />
          <Fieldset legend={words.caps}>
            <Text size="sm" c="dimmed" mb="xs">
              {by === 'operator' ? words.capsHint : words.ownCapsHint}
            </Text>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {(['capDay', 'capTotal'] as const).map((field) => (
                <TextInput
                  key={field}
                  label={words[field]}
                  placeholder={words.capPlaceholder}
                  leftSection="$"
                  inputMode="decimal"
                  value={form[field]}
                  onChange={({ currentTarget }) => change({ [field]: currentTarget.value })}
                  error={shown[field]}
                />
              ))}
            </SimpleGrid>
          </Fieldset>
          <TextInput
            type="date"
            label={words.expiry}
            description={expiresAt === 0 ? words.expiryHint : words.restrictedExpiryHint(formatExact(expiresAt))}
            value={form.lastDay}
            onChange={({ currentTarget }) => change({ lastDay: currentTarget.value })}
            error={shown.lastDay}
            maw="16rem"
          />
          {create.error === null ? null : <ErrorState error={create.error} />}
          {isTried && Object.keys(errors).length > 0 ? (
            <Note color="red" role="status">
              {Object.values(errors).join(' ')}
            </Note>
          ) : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" isBusy={create.isPending}>
              {words.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** After the error marks are rendered. */
function focusFirstError(form: HTMLFormElement): void {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
