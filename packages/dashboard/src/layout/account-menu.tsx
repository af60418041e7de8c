/**
 * The menu of the session: its account, the theme, and sign-out.
 */
import { ActionIcon, Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconLogout, IconUserCircle } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { signOut as sendSignOut } from '../api/api.ts';
import { useDeletion } from '../pages/storage/deletion.ts';
import { replaceSession, useSession } from '../session/session.tsx';
import { texts } from '../texts/common.ts';
import { useThemeSwitch } from './theme-switch.ts';

export function AccountMenu() {
  const { accountName, keyName } = useSession();
  const { label, Icon, switchTheme } = useThemeSwitch();
  const client = useQueryClient();
  const { sendNow: sendDeletion } = useDeletion();
  const signOut = useMutation({
    async mutationFn(isEverywhere: boolean) {
      // Without the session the request would be rejected.
      await sendDeletion();
      await client.cancelQueries();
      return sendSignOut(isEverywhere);
    },
    onSuccess: ({ ended }, isEverywhere) => {
      replaceSession(client, null);
      if (isEverywhere) notifications.show({ message: texts.signedOutEverywhere(ended) });
    },
    onError: (error) => notifications.show({ color: 'red', message: error.message }),
  });
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={texts.account}>
          <IconUserCircle />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {accountName}
          <br />
          {texts.signedInWith(keyName)}
        </Menu.Label>
        <Menu.Item leftSection={<Icon size={16} />} onClick={switchTheme}>
          {label}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => signOut.mutate(false)}>
          {texts.signOut}
        </Menu.Item>
        <Menu.Item onClick={() => signOut.mutate(true)}>{texts.signOutEverywhere}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
