/** Confirms that callbacks are no longer signed. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { useDeleteSigningSecret } from '../../api/webhooks.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { notify } from '../../components/notify.ts';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/webhooks.ts';

export function DeleteSecretDialog({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog isOpen={isOpen} title={texts.removal.title} onClose={onClose}>
      <Removal onClose={onClose} />
    </Dialog>
  );
}

function Removal({ onClose }: { readonly onClose: () => void }) {
  const remove = useDeleteSigningSecret();
  const submit = (): void =>
    remove.mutate(undefined, {
      onSuccess() {
        notify(texts.secret.isRemoved);
        onClose();
      },
    });
  return (
    <Stack>
      <Text size="sm">{texts.removal.about}</Text>
      {remove.error === null ? null : <ErrorState error={remove.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          {common.cancel}
        </Button>
        <BusyButton color="red.9" onClick={submit} isBusy={remove.isPending}>
          {texts.removal.submit}
        </BusyButton>
      </Group>
    </Stack>
  );
}
