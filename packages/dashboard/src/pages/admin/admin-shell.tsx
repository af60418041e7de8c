/** The frame around the operator's pages: navigation, external links and sign-out, light or dark. */
import {
  ActionIcon,
  AppShell,
  Box,
  Badge,
  Burger,
  Button,
  Group,
  NavLink,
  Text,
  Tooltip,
  UnstyledButton,
} from '@mantine/core';
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconExternalLink, IconHeartbeat, IconLogout, IconMoon, IconSun, IconUsers } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useOperator } from '../../api/admin.ts';
import { CONTENT_ID, focusContent } from '../../layout/content.ts';
import { OfflineNote } from '../../layout/offline-note.tsx';
import { texts } from '../../texts/admin.ts';
import { texts as common } from '../../texts/common.ts';

/** The Web UI's list without deliveries, promotions and workflows started by schedules. */
const TASKS_QUERY = 'WorkflowType="mediaTask"';

const PAGES = [
  { path: '/accounts', name: texts.pages.accounts, Icon: IconUsers },
  { path: '/service', name: texts.pages.service, Icon: IconHeartbeat },
] as const;

export function AdminShell({ children }: { readonly children: ReactNode }) {
  const { service, signOut } = useOperator();
  const [location] = useLocation();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const isAt = (path: string): boolean => location === path || location.startsWith(`${path}/`);
  const current = location === '/' ? PAGES[0] : PAGES.find(({ path }) => isAt(path));
  usePageTitle(current?.name ?? common.pageNotFound, location);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'lg' }}
    >
      <a className="skip-link" href={`#${CONTENT_ID}`}>
        {common.skipToContent}
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={common.openNavigation}
              aria-expanded={isOpen}
            />
            <UnstyledButton component={Link} href="/accounts" aria-label={`${texts.product}: ${texts.pages.accounts}`}>
              <Group gap={8} wrap="nowrap">
                <img src="/assets/icon.svg" alt="" width={28} height={28} />
                <Text fw={700} size="lg" visibleFrom="xs">
                  {texts.product}
                </Text>
              </Group>
            </UnstyledButton>
            <Badge variant="default" tt="none">
              {texts.operator}
            </Badge>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <ColourSwitch />
            <Button variant="default" size="xs" leftSection={<IconLogout size={16} aria-hidden />} onClick={signOut}>
              {texts.signOut}
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" {...(isOpen ? {} : { className: 'closed-navigation' })} aria-label={common.navigation}>
        <AppShell.Section grow>
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
          {service.workflowsUrl === undefined ? null : (
            <NavLink
              component="a"
              href={`${service.workflowsUrl}?query=${encodeURIComponent(TASKS_QUERY)}`}
              target="_blank"
              rel="noreferrer"
              label={texts.workflows}
              rightSection={<IconExternalLink size={14} aria-hidden />}
            />
          )}
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

function ColourSwitch() {
  const scheme = useComputedColorScheme('light');
  const { setColorScheme } = useMantineColorScheme();
  const label = scheme === 'dark' ? common.lightColours : common.darkColours;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={label}
        onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}
      >
        {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** The document's title follows the page, and screen readers announce the new one. */
function usePageTitle(name: string, location: string): void {
  const page = location.split('/').slice(0, 3).join('/');
  const shown = useRef(page);
  useEffect(() => {
    document.title = `${name} · ${texts.operator} · ${texts.product}`;
    // Parts of one account are selected by tabs, which keep the focus.
    if (shown.current !== page) focusContent();
    shown.current = page;
  }, [name, page]);
}
