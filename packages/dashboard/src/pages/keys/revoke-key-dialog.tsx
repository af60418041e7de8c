/** Confirms that a key is revoked permanently. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { Key, KeyActions } from '../../api/keys.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Note } from '../../components/note.tsx';
import { notify } from '../../components/notify.ts';
import { ErrorState } from '../../components/states.tsx';
import { texts as common } from '../../texts/common.ts';
import { texts } from '../../texts/keys.ts';

const { revocation: words } = texts;

export function RevokeKeyDialog(props: {
  readonly target: Key;
  /** Whether it is the key of the session. */
  readonly isOwn: boolean;
  readonly revoke: KeyActions['revoke'];
  readonly onClose: () => void;
}) {
  const { target, isOwn, onClose } = props;
  const revoke = useMutation({ mutationFn: props.revoke });
  const submit = (): void =>
    revoke.mutate(target.id, {
      onSuccess() {
        notify(words.done(target.name));
        onClose();
      },
    });
  return (
    <Dialog isOpen onClose={onClose} title={words.title(target.name)}>
      <Stack>
        <Text>{words.about}</Text>
        {isOwn ? (
          <Note color="yellow" icon={<IconAlertTriangle />}>
            {words.own}
          </Note>
        ) : null}
        {revoke.error === null ? null : <ErrorState error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {common.cancel}
          </Button>
          <BusyButton color="red.9" onClick={submit} isBusy={revoke.isPending}>
            {isOwn ? words.submitOwn : words.submit}
          </BusyButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
