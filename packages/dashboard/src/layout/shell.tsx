/**
 * The frame around every page: navigation, the balance, the session's account, and whether the service answers.
 */
import { AppShell, Badge, Box, Burger, Group, NavLink, ScrollArea, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
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
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { formatUsd } from '../components/money.ts';
import { useAccount } from '../api/account.ts';
import { useMay } from '../session/session.tsx';
import { texts } from '../texts/common.ts';
import { AccountMenu } from './account-menu.tsx';
import { CONTENT_ID, focusContent } from './content.ts';
import { OfflineNote } from './offline-note.tsx';

const PAGES = [
  { path: '/', name: texts.pages.home, Icon: IconHome },
  { path: '/models', name: texts.pages.models, Icon: IconBox },
  { path: '/playground', name: texts.pages.playground, Icon: IconSparkles },
  { path: '/tasks', name: texts.pages.tasks, Icon: IconListDetails },
  { path: '/storage', name: texts.pages.storage, Icon: IconPhoto },
  { path: '/keys', name: texts.pages.keys, Icon: IconKey },
  { path: '/webhooks', name: texts.pages.webhooks, Icon: IconWebhook },
  { path: '/usage', name: texts.pages.usage, Icon: IconChartBar },
] as const;

export function Shell({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const current = PAGES.find(({ path }) => location === path || (path !== '/' && location.startsWith(`${path}/`)));
  usePageTitle(current === undefined ? texts.pageNotFound : titleOf(current, location), location);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="skip-link" href={`#${CONTENT_ID}`}>
        {texts.skipToContent}
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={texts.openNavigation}
              aria-expanded={isOpen}
            />
            <UnstyledButton component={Link} href="/" aria-label={texts.product}>
              <Group gap={8} wrap="nowrap">
                <img src="/assets/icon.svg" alt="" width={28} height={28} />
                <Text fw={700} size="lg" visibleFrom="xs">
                  {texts.product}
                </Text>
              </Group>
            </UnstyledButton>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <BalanceBadge />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" {...(isOpen ? {} : { className: 'closed-navigation' })} aria-label={texts.navigation}>
        <AppShell.Section grow component={ScrollArea}>
          {PAGES.map(({ path, name, Icon }) => (
            <NavLink
              key={path}
              component={Link}
              href={path}
              label={name}
              leftSection={<Icon size={18} aria-hidden />}
              active={current?.path === path}
              {...(current?.path === path ? { 'aria-current': 'page' as const } : {})}
              onClick={() => {
                close();
                focusContent();
              }}
            />
          ))}
        </AppShell.Section>
        <AppShell.Section>
          <NavLink component="a" href="/docs" label={texts.apiReference} />
          <NavLink component="a" href="/guide/" label={texts.guide} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id={CONTENT_ID} tabIndex={-1}>
        {/* On very wide screens lines stay short enough to read. */}
        <Box maw="120rem" mx="auto">
          <OfflineNote />
          {children}
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

/** @returns the page's name, preceded by the name of the item that it shows. */
function titleOf({ path, name }: (typeof PAGES)[number], location: string): string {
  const shown = location.slice(path.length + 1);
  return path === '/' || shown === '' ? name : `${shown} · ${name}`;
}

/** The document's title follows the page, and screen readers announce the new one. */
function usePageTitle(name: string, location: string): void {
  const shown = useRef(location);
  useEffect(() => {
    document.title = `${name} · ${texts.product}`;
    if (shown.current !== location) focusContent();
    shown.current = location;
  }, [name, location]);
}

function BalanceBadge() {
  const mayRead = useMay('billing:read');
  const { data: account } = useAccount(mayRead);
  if (account === undefined) return null;
  return (
    <Badge component={Link} href="/usage" variant="default" size="lg" tt="none">
      {texts.available(formatUsd(account.available))}
    </Badge>
  );
}
