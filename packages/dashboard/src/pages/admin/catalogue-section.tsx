/** The loaded models, and the errors of rejected model files. */
import { Alert, Badge, Box, Button, Code, Group, List, Stack, Table, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useCatalogue } from '../../api/admin.ts';
import type { Catalogue } from '../../api/admin.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';

const { catalogue: words } = texts;

export function CatalogueSection() {
  return (
    <PartState title={words.title} read={useCatalogue()}>
      {(catalogue) => <State catalogue={catalogue} />}
    </PartState>
  );
}

function State({ catalogue: { since, models, refused, belowCost } }: { readonly catalogue: Catalogue }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Stack gap="sm">
      {refused === null ? null : (
        <Alert
          color="red"
          icon={<IconAlertTriangle />}
          title={words.rejectedTitle(refused.problems.length)}
          role="alert"
        >
          <Text size="sm" mb="xs">
            {words.rejectedHint} <Time seconds={refused.since} />.
          </Text>
          <List size="sm" spacing={4}>
            {refused.problems.map(({ file, problem }) => (
              <List.Item key={`${file} ${problem}`}>
                <Code>{file}</Code> {problem}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      {belowCost.length === 0 ? null : (
        <Alert color="yellow" icon={<IconAlertTriangle />} title={words.belowCostTitle(belowCost.length)}>
          <List size="sm" spacing={4}>
            {belowCost.map(({ model, problem }) => (
              <List.Item key={`${model} ${problem}`}>
                <Code>{model}</Code> {problem}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Text size="sm">
        {words.loaded(models.length)}. {words.since} <Time seconds={since} />.
      </Text>
      {models.length === 0 ? (
        <Text size="sm" c="dimmed">
          {words.noneHint}
        </Text>
      ) : (
        <Box>
          <Button variant="default" size="xs" aria-expanded={isOpen} onClick={() => setOpen((before) => !before)}>
            {isOpen ? words.hide : words.show}
          </Button>
        </Box>
      )}
      {isOpen ? <Models models={models} /> : null}
    </Stack>
  );
}

function Models({ models }: { readonly models: Catalogue['models'] }) {
  const { columns } = words;
  return (
    <DataTable
      label={words.label}
      minWidth={480}
      columns={[{ name: columns.name }, { name: columns.modality }, { name: columns.routes }, { name: columns.hash }]}
    >
      {models.map(({ name, modality, routes, hash, isRetired }) => (
        <Table.Tr key={name}>
          <Table.Td>
            <Group gap={6}>
              {name}
              {isRetired ? (
                <Badge variant="light" color="gray" tt="none">
                  {words.retired}
                </Badge>
              ) : null}
            </Group>
          </Table.Td>
          <Table.Td>{modality}</Table.Td>
          <Table.Td>{routes.length === 0 ? '–' : routes.join(', ')}</Table.Td>
          <Table.Td>
            <Code>{hash.slice(0, 12)}</Code>
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
