/**
 * The frame around every page, of accounts and of operators: the header, the navigation, the document's title, and
 * whether the service answers. What differs between the two is passed in (account-shell.tsx,
 * ../pages/admin/operator-shell.tsx).
 */
import { AppShell, Box, Burger, Group, NavLink, ScrollArea, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { TablerIcon } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { texts } from '../texts/common.ts';
import { CONTENT_ID, focusContent } from './content.ts';
import { OfflineNote } from './offline-note.tsx';

export interface ShellPage {
  /** The path of the page; those below it are its parts. */
  readonly path: string;
  readonly name: string;
  readonly Icon: TablerIcon;
}

interface ShellProps {
  /** In the order of the navigation; the first one is also at `/`. */
  readonly pages: readonly [ShellPage, ...ShellPage[]];
  /** The start of the document's title, before the product's name. */
  readonly titleOf: (page: ShellPage | undefined, location: string) => string;
  /** The part of the URL whose change moves the focus to the page. Default: all of it. */
  readonly focusedPart?: (location: string) => string;
  /** Shown next to the product's name. */
  readonly badge?: ReactNode;
  /** At the end of the header. */
  readonly actions: ReactNode;
  /** Below the navigation. */
  readonly links: ReactNode;
  readonly children: ReactNode;
}

const whole = (location: string): string => location;

export function Shell(props: ShellProps) {
  const { pages, focusedPart = whole } = props;
  const [location] = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const [first] = pages;
  const current =
    location === '/'
      ? first
      : pages.find(({ path }) => location === path || (path !== '/' && location.startsWith(`${path}/`)));
  usePageTitle(props.titleOf(current, location), focusedPart(location));
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
            <UnstyledButton component={Link} href={first.path} aria-label={`${texts.product}: ${first.name}`}>
              <Group gap={8} wrap="nowrap">
                <img src="/assets/icon.svg" alt="" width={28} height={28} />
                <Text fw={700} size="lg" visibleFrom="xs">
                  {texts.product}
                </Text>
              </Group>
            </UnstyledButton>
            {props.badge}
          </Group>
          <Group gap="xs" wrap="nowrap">
            {props.actions}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" {...(isOpen ? {} : { className: 'closed-navigation' })} aria-label={texts.navigation}>
        <AppShell.Section grow component={ScrollArea}>
          {pages.map(({ path, name, Icon }) => (
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
        <AppShell.Section>{props.links}</AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id={CONTENT_ID} tabIndex={-1}>
        {/* On very wide screens lines stay short enough to read. */}
        <Box maw="120rem" mx="auto">
          <OfflineNote />
          {props.children}
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

/** The document's title follows the page, and screen readers announce the new one. */
function usePageTitle(title: string, page: string): void {
  const shown = useRef(page);
  useEffect(() => {
    document.title = `${title} · ${texts.product}`;
    if (shown.current !== page) focusContent();
    shown.current = page;
  }, [title, page]);
}
