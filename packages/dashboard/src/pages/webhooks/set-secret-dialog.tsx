/** Sets the account's own signing secret. */
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useSetSigningSecret } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/webhooks.ts';

/** Contract §6: a text of 16-256 characters. */
const LENGTH = { minimum: 16, maximum: 256 } as const;

export function SetSecretDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} title={texts.own.title} onClose={onClose}>
      <OwnSecret onClose={onClose} />
    </Dialog>
  );
}

/** @returns its error, if any. */
function validateSecret(secret: string): string | undefined {
  // Counted like the API does: code points.
  const characters = [...secret].length;
  if (characters < LENGTH.minimum) return texts.own.tooShort(characters);
  return characters > LENGTH.maximum ? texts.own.tooLong(characters) : undefined;
}

function OwnSecret({ onClose }: { readonly onClose: () => void }) {
  const [secret, setSecret] = useState('');
  const [isTried, setTried] = useState(false);
  const set = useSetSigningSecret();
  const error = validateSecret(secret);
  const submit = (): void => {
    setTried(true);
    if (error !== undefined) return;
    set.mutate(secret, {
      onSuccess() {
        notify(texts.secret.isCreated);
        onClose();
      },
    });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Stack>
        <Text size="sm">{texts.own.about}</Text>
        <PasswordInput
          label={texts.own.label}
          description={texts.own.hint}
          value={secret}
          onChange={({ currentTarget }) => setSecret(currentTarget.value)}
          error={isTried ? error : undefined}
          autoComplete="off"
          spellCheck={false}
          visibilityToggleButtonProps={{ 'aria-label': texts.own.toggle, tabIndex: 0, 'aria-hidden': false }}
          data-autofocus
        />
        {set.error === null ? null : <ErrorState error={set.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {common.cancel}
          </Button>
          <BusyButton type="submit" isBusy={set.isPending}>
            {texts.own.submit}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  );
}
