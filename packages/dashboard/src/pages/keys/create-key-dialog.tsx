/**
 * Creates a key: its name, its rights, its caps and its expiry. Nothing beyond the rights of the session's key is
 * offered.
 */
import { Button, Fieldset, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useCreateKey } from '../../api/keys.ts';
import type { Key, MadeKey } from '../../api/keys.ts';
import { useNow } from '../../components/now.ts';
import { ErrorState } from '../../components/states.tsx';
import { formatExact } from '../../components/time.tsx';
import { useSession } from '../../session/session.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';
import { ModelChoice } from './model-choice.tsx';
import { ownRights, problemsOf, requestOf } from './new-key-form.ts';
import type { KeyForm } from './new-key-form.ts';
import { ScopeChoice } from './scope-choice.tsx';

const { dialog } = texts;

export function CreateKeyDialog(props: {
  readonly keys: readonly Key[];
  readonly onMade: (made: MadeKey) => void;
  readonly onClose: () => void;
}) {
  const session = useSession();
  const own = ownRights(
    props.keys.find(({ id }) => id === session.keyId),
    session.models,
  );
  const [form, setForm] = useState<KeyForm>(() => ({
    name: '',
    scopes: (['tasks:write', 'tasks:read', 'models:read'] as const).filter((scope) => session.scopes.includes(scope)),
    models: [],
    capDay: '',
    capTotal: '',
    lastDay: '',
  }));
  const [isTried, setTried] = useState(false);
  const create = useCreateKey();
  const change = (changes: Partial<KeyForm>): void => setForm((before) => ({ ...before, ...changes }));
  const problems = problemsOf(form, own, useNow());
  const shown = isTried ? problems : {};

  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(problems).length > 0) {
      focusFirstProblem(event.currentTarget);
      return;
    }
    create.mutate(requestOf(form, own), { onSuccess: props.onMade });
  };
  return (
    <Dialog isOpen onClose={props.onClose} title={dialog.create} size="lg">
      <form onSubmit={submit} noValidate>
        <Stack>
          <TextInput
            label={dialog.name}
            description={dialog.nameHint}
            placeholder={dialog.namePlaceholder}
            value={form.name}
            onChange={({ currentTarget }) => change({ name: currentTarget.value })}
            maxLength={100}
            error={shown.name}
            required
            data-autofocus
          />
          <ScopeChoice
            available={session.scopes}
            chosen={form.scopes}
            onChange={(scopes) => change({ scopes })}
            problem={shown.scopes}
          />
          <ModelChoice
            allowed={own.models}
            chosen={form.models}
            onChange={(models) => change({ models })}
            problem={shown.models}
          />
          <Fieldset legend={dialog.caps}>
            <Text size="sm" c="dimmed" mb="xs">
              {dialog.capsHint}
            </Text>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {(['capDay', 'capTotal'] as const).map((field) => (
                <TextInput
                  key={field}
                  label={dialog[field]}
                  placeholder={dialog.capPlaceholder}
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
            label={dialog.expiry}
            description={own.expiresAt === 0 ? dialog.expiryHint : dialog.expiryOwnHint(formatExact(own.expiresAt))}
            value={form.lastDay}
            onChange={({ currentTarget }) => change({ lastDay: currentTarget.value })}
            error={shown.lastDay}
            maw="16rem"
          />
          {create.error === null ? null : <ErrorState error={create.error} />}
          {isTried && Object.keys(problems).length > 0 ? (
            <Note color="red" role="status">
              {Object.values(problems).join(' ')}
            </Note>
          ) : null}
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

/** After the error marks are rendered. */
function focusFirstProblem(form: HTMLFormElement): void {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
