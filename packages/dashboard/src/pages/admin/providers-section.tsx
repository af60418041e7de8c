/** The providers: which have a key, what that offers, and what is missing otherwise. */
import { Anchor, Badge, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { useProviders } from '../../api/admin.ts';
import type { Provider } from '../../api/admin.ts';
import { texts } from '../../texts/admin-service.ts';
import { Time } from '../../components/time.tsx';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';
import { ProviderDialog, settingsOf } from './provider-dialog.tsx';

const { providers: words } = texts;

export function ProvidersSection() {
  return (
    <PartState title={words.title} read={useProviders()}>
      {({ providers }) => <State providers={providers} />}
    </PartState>
  );
}

function State({ providers }: { readonly providers: readonly Provider[] }) {
  const [opened, setOpened] = useState<string>();
  if (providers.length === 0) return <Text size="sm">{words.none}</Text>;
  const dialogFor = providers.find(({ name }) => name === opened);
  const { columns } = words;
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {words.summary(providers.filter(({ missing }) => missing === null).length, providers.length)}
      </Text>
      <DataTable
        label={words.label}
        minWidth={760}
        columns={[
          { name: columns.provider },
          { name: columns.state },
          { name: columns.models },
          { name: columns.live },
          { name: columns.key },
          { name: columns.change },
        ]}
      >
        {providers.map((provider) => (
          <Row key={provider.name} provider={provider} onOpen={() => setOpened(provider.name)} />
        ))}
      </DataTable>
      {dialogFor === undefined ? null : <ProviderDialog provider={dialogFor} onClose={() => setOpened(undefined)} />}
    </Stack>
  );
}

function Row({ provider, onOpen }: { readonly provider: Provider; readonly onOpen: () => void }) {
  const { title, documentation, missing, models, credential, baseUrl } = provider;
  const settings = settingsOf(provider);
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'break-word' }}>
        {documentation === null ? (
          title
        ) : (
          <Anchor href={documentation} target="_blank" rel="noreferrer" size="sm">
            {title}
          </Anchor>
        )}
      </Table.Td>
      <Table.Td>
        <Badge
          variant="light"
          color={missing === null ? 'teal' : missing === 'valid_credential' ? 'red' : 'gray'}
          tt="none"
          miw="max-content"
        >
          {words.states[missing ?? 'offered']}
        </Badge>
      </Table.Td>
      <Table.Td>{models.map(({ name }) => name).join(', ') || '–'}</Table.Td>
      <Table.Td>
        <Verifications models={models} />
      </Table.Td>
      <Table.Td>
        {credential.source === null ? '–' : words.sources[credential.source]}
        {settings === 'key' || baseUrl.source === null ? null : <Text size="xs">{baseUrl.url}</Text>}
        {credential.checks.map(({ name, state }) => (
          <Text key={name} size="xs">
            {words.check(name, words.checks[state], credential.checks.length === 1)}
          </Text>
        ))}
      </Table.Td>
      <Table.Td>
        <Group>
          <Button variant="default" size="xs" onClick={onOpen} aria-label={words.changeOf[settings](title)}>
            {words.change[settings]}
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** Which models have been run against the live service. */
function Verifications({ models }: { readonly models: Provider['models'] }) {
  const run = models.flatMap(({ name, verification }) => (verification === null ? [] : [{ name, ...verification }]));
  if (run.length === 0) return <Text size="sm">{words.notRun}</Text>;
  return (
    <Stack gap={2}>
      {run.map(({ name, at, outcome }) => (
        <Text key={name} size="sm">
          {words.run(name, outcome)} (<Time seconds={at} />)
        </Text>
      ))}
      {run.length < models.length ? <Text size="sm">{words.notRunOf(models.length - run.length)}</Text> : null}
    </Stack>
  );
}
