/** The frame around the pages of an account: its navigation, its available balance, and the menu of the session. */
import { Badge, NavLink } from '@mantine/core';
import {
  IconBox,
  IconChartBar,
  IconHome,
  IconKey,
  IconListDetails,
  IconPhoto,
  IconSparkles,
  IconWebhook,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAccount } from '../api/account.ts';
import { formatUsd } from '../components/money.ts';
import { useMay } from '../session/session.tsx';
import { texts } from '../texts/common.ts';
import { AccountMenu } from './account-menu.tsx';
import { Shell } from './shell.tsx';
import type { ShellPage } from './shell.tsx';

const PAGES = [
  { path: '/', name: texts.pages.overview, Icon: IconHome },
  { path: '/models', name: texts.pages.models, Icon: IconBox },
  { path: '/playground', name: texts.pages.playground, Icon: IconSparkles },
  { path: '/tasks', name: texts.pages.tasks, Icon: IconListDetails },
  { path: '/storage', name: texts.pages.storage, Icon: IconPhoto },
  { path: '/keys', name: texts.pages.keys, Icon: IconKey },
  { path: '/webhooks', name: texts.pages.webhooks, Icon: IconWebhook },
  { path: '/usage', name: texts.pages.usage, Icon: IconChartBar },
] as const;

export function AccountShell({ children }: { readonly children: ReactNode }) {
  return (
    <Shell
      pages={PAGES}
      titleOf={titleOf}
      actions={
        <>
          <BalanceBadge />
          <AccountMenu />
        </>
      }
      links={
        <>
          <NavLink component="a" href="/docs" label={texts.apiReference} />
          <NavLink component="a" href="/guide/" label={texts.guide} />
        </>
      }
    >
      {children}
    </Shell>
  );
}

/** @returns the page's name, preceded by the name of the item that it shows. */
function titleOf(page: ShellPage | undefined, location: string): string {
  if (page === undefined) return texts.pageNotFound;
  const shown = location.slice(page.path.length + 1);
  return page.path === '/' || shown === '' ? page.name : `${shown} · ${page.name}`;
}

function BalanceBadge() {
  const mayRead = useMay('billing:read');
  const { data: account } = useAccount(mayRead);
  if (account === undefined) return null;
  return (
    // A narrow header has no room for a large amount, which the overview and the usage show as well.
    <Badge component={Link} href="/usage" variant="default" size="lg" tt="none" visibleFrom="xs">
      {texts.available(formatUsd(account.available))}
    </Badge>
  );
}
