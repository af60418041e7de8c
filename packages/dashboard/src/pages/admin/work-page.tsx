/** The tasks and text calls of all accounts: an operator finds what failed, where and why. Inputs and outputs are hidden. */
import { Anchor, Badge, Code, Group, NativeSelect, SimpleGrid, Stack, Table, Text, TextInput } from '@mantine/core';
import { TASK_STATUSES } from '@darkroom/api/facts/task-status';
import { TEXT_CALL_STATUSES } from '@darkroom/api/admin/admin-work';
import type { WireWorkList, WorkKind, WorkStatus } from '@darkroom/api/admin/admin-work';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { Link } from 'wouter';
import { useWork } from '../../api/admin.ts';
import type { WorkFilter } from '../../api/admin.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { formatUsd } from '../../components/money.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { ErrorState, LoadingState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-work.ts';
import { Section } from '../tasks/section.tsx';
import { DataTable } from './data-table.tsx';

const FIELDS = ['model', 'upstream', 'accountId', 'keyId', 'user', 'reason'] as const;
const TYPED_MS = 300;
const COLOURS: Readonly<Partial<Record<WorkStatus, string>>> = {
  success: 'teal',
  answered: 'teal',
  fail: 'red',
  failed: 'red',
  handling: 'blue',
  in_progress: 'blue',
  archiving: 'indigo',
};

type Filter = Readonly<Record<(typeof FIELDS)[number], string>> & {
  readonly kind: WorkKind;
  readonly status: string;
  readonly hours: string;
};

const FAILURES: Readonly<Record<WorkKind, WorkStatus>> = { task: 'fail', text_call: 'failed' };

export default function WorkPage() {
  const [filter, setFilter] = useState<Filter>({
    kind: 'task',
    status: FAILURES.task,
    model: '',
    upstream: '',
    accountId: '',
    keyId: '',
    user: '',
    reason: '',
    hours: '',
  });
  const [settled] = useDebouncedValue(filter, TYPED_MS);
  return (
    <>
      <PageHeader title={texts.title}>{texts.about}</PageHeader>
      <Stack gap="md">
        <Section title={texts.filters}>
          <Filters filter={filter} onChange={setFilter} />
        </Section>
        <Section title={texts.list[settled.kind]}>
          <List filter={settled} />
        </Section>
      </Stack>
    </>
  );
}

function Filters({ filter, onChange }: { readonly filter: Filter; readonly onChange: (filter: Filter) => void }) {
  const { kind } = filter;
  const statuses: readonly WorkStatus[] = kind === 'task' ? TASK_STATUSES : TEXT_CALL_STATUSES;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
      <NativeSelect
        label={texts.kind}
        value={kind}
        onChange={({ currentTarget: { value } }) => {
          const chosen = value === 'task' ? 'task' : 'text_call';
          onChange({ ...filter, kind: chosen, status: filter.status === '' ? '' : FAILURES[chosen] });
        }}
        data={[
          { value: 'task', label: texts.kinds.task },
          { value: 'text_call', label: texts.kinds.text_call },
        ]}
      />
      <NativeSelect
        label={texts.status}
        value={filter.status}
        onChange={({ currentTarget: { value } }) => onChange({ ...filter, status: value })}
        data={[
          { value: '', label: texts.anyStatus },
          ...statuses.map((status) => ({ value: status, label: texts.statuses[status] })),
        ]}
      />
      <NativeSelect
        label={texts.time}
        value={filter.hours}
        onChange={({ currentTarget: { value } }) => onChange({ ...filter, hours: value })}
        data={texts.times.map(([value, label]) => ({ value, label }))}
      />
      {FIELDS.map((field) => (
        <TextInput
          key={field}
          label={texts.fields[field]}
          value={filter[field]}
          onChange={({ currentTarget: { value } }) => onChange({ ...filter, [field]: value })}
          spellCheck={false}
          maxLength={300}
        />
      ))}
    </SimpleGrid>
  );
}

function queryOf({ kind, status, hours, ...fields }: Filter): WorkFilter {
  const typed = FIELDS.flatMap((field) =>
    fields[field].trim() === '' ? [] : [[field, fields[field].trim()] as const],
  );
  return {
    kind,
    ...(status === '' ? {} : { status }),
    ...(hours === '' ? {} : { hours: Number(hours) }),
    ...Object.fromEntries(typed),
  };
}

function List({ filter }: { readonly filter: Filter }) {
  const read = useWork(queryOf(filter));
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = read;
  if (data === undefined) {
    return error === null ? <LoadingState /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  const work = data.pages.flatMap((page) => page.work);
  const { columns } = texts;
  return (
    <Stack gap="sm">
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      {work.length === 0 ? (
        <Text size="sm" role="status">
          {hasNextPage ? texts.noneYet : texts.none}
        </Text>
      ) : (
        <DataTable
          label={texts.label}
          minWidth={900}
          isUnbroken
          columns={[
            { name: columns.created },
            { name: columns.status },
            { name: columns.model },
            { name: columns.upstream },
            { name: columns.account },
            { name: columns.captured, isNumber: true },
            { name: columns.id },
          ]}
        >
          {work.map((each) => (
            <Row key={each.id} work={each} />
          ))}
        </DataTable>
      )}
      {hasNextPage ? (
        <Group>
          <BusyButton variant="default" size="xs" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {texts.more}
          </BusyButton>
        </Group>
      ) : null}
    </Stack>
  );
}

function Row({ work }: { readonly work: WireWorkList['work'][number] }) {
  const { kind, id, accountId, model, status, reason, upstream, created, captured } = work;
  return (
    <Table.Tr>
      <Table.Td>
        <Time seconds={created} />
      </Table.Td>
      <Table.Td>
        <Badge variant="light" color={COLOURS[status] ?? 'gray'} tt="none" miw="max-content">
          {texts.statuses[status]}
        </Badge>
        {reason === undefined ? null : <Text size="xs">{reason}</Text>}
      </Table.Td>
      <Table.Td>{model}</Table.Td>
      <Table.Td>{upstream ?? '–'}</Table.Td>
      <Table.Td>
        <Anchor component={Link} href={`/accounts/${accountId}`} size="sm" ff="monospace">
          {accountId}
        </Anchor>
      </Table.Td>
      <Table.Td ta="end">{formatUsd(captured)}</Table.Td>
      <Table.Td>
        {kind === 'task' ? (
          <Anchor component={Link} href={`/service/tasks/${id}`} size="sm" ff="monospace">
            {id}
          </Anchor>
        ) : (
          <Code>{id}</Code>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
