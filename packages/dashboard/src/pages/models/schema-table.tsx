/** The schema of an input as a readable table. */
import { Badge, Code, Group, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { texts } from '../../texts/models.ts';
import { schemaRows } from './schema-rows.ts';
import type { Schema, SchemaRow } from './schema-rows.ts';

export function SchemaTable({ schema }: { readonly schema: Schema }) {
  const { columns } = texts;
  return (
    <Table.ScrollContainer
      minWidth={600}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': texts.schemaTable, role: 'region' } }}
    >
      {/* Words are not broken: a table that is too wide scrolls. */}
      <Table verticalSpacing="sm" aria-label={texts.schemaTable} style={{ overflowWrap: 'normal' }}>
        <Table.Thead>
          <Table.Tr>
            {[columns.field, columns.type, columns.allowed, columns.default, columns.about].map((name) => (
              <Table.Th key={name} scope="col">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {schemaRows(schema).map((row) => (
            <Row key={row.path} row={row} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Row({ row }: { readonly row: SchemaRow }) {
  return (
    <Table.Tr>
      <Table.Th
        scope="row"
        fw={400}
        pl={`calc(${row.depth} * var(--mantine-spacing-md) + var(--mantine-spacing-xs))`}
        style={{ verticalAlign: 'top' }}
      >
        <Code>{row.path}</Code>
      </Table.Th>
      <Cell>
        {row.type}{' '}
        {row.isRequired ? (
          <Badge tt="none" miw="max-content">
            {texts.required}
          </Badge>
        ) : null}
      </Cell>
      <Cell>
        {row.allowed.map((each) => (
          <Text key={each} size="sm">
            {each}
          </Text>
        ))}
        {row.choices.length === 0 ? null : (
          <Group gap={4} maw="11rem">
            {row.choices.map((choice) => (
              <Code key={choice}>{choice}</Code>
            ))}
          </Group>
        )}
      </Cell>
      <Cell>{row.default === undefined ? texts.noDefault : <Code>{row.default}</Code>}</Cell>
      <Cell>
        <Text size="sm" maw="26rem" miw="11rem">
          {row.description}
        </Text>
      </Cell>
    </Table.Tr>
  );
}

function Cell({ children }: { readonly children: ReactNode }) {
  return <Table.Td style={{ verticalAlign: 'top' }}>{children}</Table.Td>;
}
