/** The upstreams of tasks: which answer, which are paused, which fail. */
import { Badge, Stack, Table, Text } from '@mantine/core';
import { useUpstreams } from '../../api/admin.ts';
import type { Upstreams } from '../../api/admin.ts';
import { useNow } from '../../components/now.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';

const { upstreams: words } = texts;
const COLOURS = { open: 'teal', paused: 'blue', failing: 'red' } as const;
type Upstream = Upstreams['upstreams'][number];

export function UpstreamsSection() {
  return (
    <PartState title={words.title} read={useUpstreams()}>
      {({ upstreams }) => <State upstreams={upstreams} />}
    </PartState>
  );
}

function State({ upstreams }: { readonly upstreams: readonly Upstream[] }) {
  if (upstreams.length === 0) return <Text size="sm">{words.none}</Text>;
  const count = (state: Upstream['state']): number => upstreams.filter((each) => each.state === state).length;
  const { columns } = words;
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {words.summary(count('failing'), count('paused'))}
      </Text>
      <DataTable
        label={words.label}
        minWidth={560}
        isUnbroken
        columns={[
          { name: columns.upstream },
          { name: columns.state },
          { name: columns.until },
          { name: columns.failures, isNumber: true },
          { name: columns.slots, isNumber: true },
        ]}
      >
        {upstreams.map((upstream) => (
          <Table.Tr key={upstream.upstream}>
            <Table.Td>{upstream.upstream}</Table.Td>
            <Table.Td>
              <Badge variant="light" color={COLOURS[upstream.state]} tt="none" miw="max-content">
                {words.states[upstream.state]}
              </Badge>
            </Table.Td>
            <Table.Td>
              <Until upstream={upstream} />
            </Table.Td>
            <Table.Td ta="end">{upstream.failures.toLocaleString('en')}</Table.Td>
            <Table.Td ta="end">{words.jobs(upstream.slotsTaken, upstream.caps)}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </Stack>
  );
}

function Until({ upstream: { retryAt, pausedUntil } }: { readonly upstream: Upstream }) {
  const nowMs = useNow();
  if (retryAt !== 0 && retryAt * 1000 <= nowMs) return words.retries;
  return <Time seconds={Math.max(retryAt, pausedUntil)} />;
}
