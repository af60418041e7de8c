/** Confirms the suspension of an account, explains its effect, and takes an optional reason. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { useSuspend } from '../../api/admin.ts';
import type { Account } from '../../api/admin.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';

const { suspension: words } = texts;

export function SuspendDialog({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const suspend = useSuspend(account.accountId);
  const [reason, setReason] = useState('');
  const trimmedReason = reason.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    suspend.mutate(trimmedReason === '' ? undefined : trimmedReason, {
      onSuccess() {
        notify(words.done(account.name));
        onClose();
      },
    });
  };
  return (
    <Dialog isOpen title={words.title(account.name)} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text>{words.about}</Text>
          <TextInput
            label={words.reason}
            description={words.reasonHint}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
            maxLength={500}
            data-autofocus
          />
          {suspend.error === null ? null : <ErrorState error={suspend.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {common.cancel}
            </Button>
            <BusyButton type="submit" color="red.9" isBusy={suspend.isPending}>
              {words.submit}
            </BusyButton>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
