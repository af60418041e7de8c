/** Confirms that a key is revoked permanently. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { tell } from '../../components/tell.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useRevokeKey } from '../../api/keys.ts';
import type { Key } from '../../api/keys.ts';
import { ErrorState } from '../../components/states.tsx';
import { useSession } from '../../session/session.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';

export function RevokeDialog({ target, onClose }: { readonly target: Key; readonly onClose: () => void }) {
  const isOwn = useSession().keyId === target.id;
  const revoke = useRevokeKey();
  const submit = (): void =>
    revoke.mutate(target.id, {
      onSuccess() {
        tell(texts.revocation.done(target.name));
        onClose();
      },
    });
  return (
    <Dialog isOpen onClose={onClose} title={texts.revocation.title(target.name)}>
      <Stack>
        <Text>{texts.revocation.about}</Text>
        {isOwn ? (
          <Note color="yellow" icon={<IconAlertTriangle />}>
            {texts.revocation.own}
          </Note>
        ) : null}
        {revoke.error === null ? null : <ErrorState error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {common.cancel}
          </Button>
          <BusyButton color="red.9" onClick={submit} isBusy={revoke.isPending}>
            {isOwn ? texts.revocation.submitOwn : texts.revocation.submit}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
