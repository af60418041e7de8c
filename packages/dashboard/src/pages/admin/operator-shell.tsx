/** The frame around the operator's pages: their navigation, Temporal's Web UI, the theme and sign-out. */
import { ActionIcon, Badge, Button, NavLink, Tooltip } from '@mantine/core';
import { IconExternalLink, IconHeartbeat, IconListSearch, IconLogout, IconUsers } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useOperator } from '../../api/admin.ts';
import { Shell } from '../../layout/shell.tsx';
import type { ShellPage } from '../../layout/shell.tsx';
import { useThemeSwitch } from '../../layout/theme-switch.ts';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';

/** The Web UI's list without deliveries, promotions and workflows started by schedules. */
const TASKS_QUERY = 'WorkflowType="mediaTask"';

const PAGES = [
  { path: '/accounts', name: texts.pages.accounts, Icon: IconUsers },
  { path: '/work', name: texts.pages.work, Icon: IconListSearch },
  { path: '/service', name: texts.pages.service, Icon: IconHeartbeat },
] as const;

export function OperatorShell({ children }: { readonly children: ReactNode }) {
  const { service, signOut } = useOperator();
  return (
    <Shell
      pages={PAGES}
      titleOf={titleOf}
      // Parts of one account are selected by tabs, which keep the focus.
      focusedPart={(location) => location.split('/').slice(0, 3).join('/')}
      badge={
        <Badge variant="default" tt="none">
          {texts.operator}
        </Badge>
      }
      actions={
        <>
          <ThemeButton />
          <Button variant="default" size="xs" leftSection={<IconLogout size={16} aria-hidden />} onClick={signOut}>
            {common.signOut}
          </Button>
        </>
      }
      links={
        service.workflowsUrl === undefined ? null : (
          <NavLink
            component="a"
            href={`${service.workflowsUrl}?query=${encodeURIComponent(TASKS_QUERY)}`}
            target="_blank"
            rel="noreferrer"
            label={texts.workflows}
            rightSection={<IconExternalLink size={14} aria-hidden />}
          />
        )
      }
    >
      {children}
    </Shell>
  );
}

function titleOf(page: ShellPage | undefined): string {
  return `${page?.name ?? common.pageNotFound} · ${texts.operator}`;
}

function ThemeButton() {
  const { label, Icon, switchTheme } = useThemeSwitch();
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} onClick={switchTheme}>
        <Icon size={18} />
      </ActionIcon>
    </Tooltip>
  );
}
