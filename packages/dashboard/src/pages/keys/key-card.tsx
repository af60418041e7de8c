/** One key: its rights, its spending, its last use, and its actions. */
import {
  ActionIcon,
  Badge,
  Box,
  Code,
  Group,
  List,
  Menu,
  Paper,
  SimpleGrid,
  Stack,
  Text,
  Title,
  Tooltip,
} from '@mantine/core';
import { IconDotsVertical, IconRefresh, IconTrash } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Key } from '../../api/keys.ts';
import { useNow } from '../../components/now.ts';
import { CopyIcon } from '../../components/copy.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/keys.ts';
import { isActive, stateOf } from './key-state.ts';
import { Spending } from './spending.tsx';

const COLOURS = { active: 'teal', ending: 'yellow', expired: 'gray', revoked: 'gray' } as const;
const ALL_SCOPES = Object.keys(texts.scopes).length;

export function KeyCard(props: {
  readonly apiKey: Key;
  readonly isOwn: boolean;
  readonly onRotate: () => void;
  readonly onRevoke: () => void;
}) {
  const { apiKey: key, isOwn } = props;
  const state = stateOf(key, useNow());
  return (
    <Paper component="li" withBorder p="md" style={{ listStyle: 'none' }} data-key-id={key.id}>
      <Group justify="space-between" align="flex-start" wrap="nowrap" mb="sm">
        <Box>
          <Group gap="xs">
            <Title order={isActive(state) ? 2 : 3} size="h4">
              {key.name}
            </Title>
            <Badge color={COLOURS[state]} variant="light" tt="none">
              {texts.states[state]}
            </Badge>
            {isOwn ? (
              <Tooltip label={texts.isOwnHint}>
                <Badge variant="outline" color="gray" tt="none" tabIndex={0}>
                  {texts.isOwn}
                </Badge>
              </Tooltip>
            ) : null}
          </Group>
          <Group gap={4}>
            <Text size="sm" c="dimmed">
              {texts.id} <Code>{key.id}</Code>
            </Text>
            <CopyIcon value={key.id} what={texts.copyId(key.name)} />
          </Group>
          {state === 'ending' && key.replacedBy !== null ? (
            <Text size="sm">{texts.replacedBy(key.replacedBy)}</Text>
          ) : null}
        </Box>
        {isActive(state) ? <Actions {...props} canRotate={state === 'active'} /> : null}
      </Group>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }} spacing="lg" verticalSpacing="sm">
        <Fact name={texts.scopesTitle}>
          <Scopes scopes={key.scopes} />
        </Fact>
        <Fact name={texts.models}>
          {key.models === null ? <Text size="sm">{texts.allModels}</Text> : <Names names={key.models} />}
        </Fact>
        <Fact name={texts.spending}>
          <Spending apiKey={key} />
        </Fact>
        <Stack gap={4}>
          <When name={texts.created} seconds={key.created} />
          <When name={texts.lastUsed} seconds={key.lastUsed} none={texts.never} />
          {key.revoked === 0 ? (
            <When
              name={isActive(state) ? texts.expires : texts.expired}
              seconds={key.expiresAt}
              none={texts.neverExpires}
            />
          ) : (
            <When name={texts.states.revoked} seconds={key.revoked} />
          )}
        </Stack>
      </SimpleGrid>
    </Paper>
  );
}

function Actions(props: {
  readonly apiKey: Key;
  readonly canRotate: boolean;
  readonly onRotate: () => void;
  readonly onRevoke: () => void;
}) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.actions(props.apiKey.name)}>
          <IconDotsVertical size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconRefresh size={16} aria-hidden />}
          disabled={!props.canRotate}
          onClick={props.onRotate}
        >
          {texts.rotate}
        </Menu.Item>
        <Menu.Item
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={16} aria-hidden />}
          onClick={props.onRevoke}
        >
          {texts.revoke}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Box>
      <Text size="xs" c="dimmed" mb={2}>
        {name}
      </Text>
      {children}
    </Box>
  );
}

function Scopes({ scopes }: { readonly scopes: Key['scopes'] }) {
  if (scopes.length === ALL_SCOPES) return <Text size="sm">{texts.allScopes}</Text>;
  return (
    <List size="sm" spacing={2} listStyleType="none">
      {scopes.map((scope) => (
        <List.Item key={scope}>{texts.scopes[scope]}</List.Item>
      ))}
    </List>
  );
}

function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <Group gap={4}>
      {names.map((name) => (
        <Code key={name}>{name}</Code>
      ))}
    </Group>
  );
}

function When({
  name,
  seconds,
  none = '–',
}: {
  readonly name: string;
  readonly seconds: number;
  readonly none?: string;
}) {
  return (
    <Text size="sm">
      <Text span c="dimmed" size="xs">
        {name}{' '}
      </Text>
      <Time seconds={seconds} none={none} />
    </Text>
  );
}
