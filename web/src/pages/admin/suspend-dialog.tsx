/** Asks once more before an account is suspended, and says what that does. */
import { Button, Group, Stack, Text } from '@mantine/core';
import { useSuspend } from '../../api/admin.ts';
import type { Account } from '../../api/admin.ts';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorState } from '../../components/states.tsx';
import { tell } from '../../components/tell.ts';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';

const { suspension: words } = texts;

export function SuspendDialog({ account, onClose }: { readonly account: Account; readonly onClose: () => void }) {
  const suspend = useSuspend(account.accountId);
  const submit = (): void =>
    suspend.mutate(true, {
      onSuccess() {
        tell(words.done(account.name));
        onClose();
      },
    });
  return (
    <Dialog isOpen title={words.title(account.name)} onClose={onClose}>
      <Stack>
        <Text>{words.about}</Text>
        {suspend.error === null ? null : <ErrorState error={suspend.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {common.cancel}
          </Button>
          <Button color="red.9" onClick={submit} loading={suspend.isPending}>
            {words.submit}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
