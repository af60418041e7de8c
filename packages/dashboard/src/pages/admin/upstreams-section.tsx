/** The upstreams of tasks and text calls: which answer, which are paused, fail or are drained, and to drain and resume them. */
import { Badge, Stack, Table, Text } from '@mantine/core';
import { useDrain, useUpstreams } from '../../api/admin.ts';
import type { Upstreams } from '../../api/admin.ts';
import { BusyButton } from '../../components/busy-button.tsx';
import { notify } from '../../components/notify.ts';
import { ErrorState } from '../../components/states.tsx';
import { useNow } from '../../components/now.ts';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/admin-service.ts';
import { DataTable } from './data-table.tsx';
import { PartState } from './part-state.tsx';

const { upstreams: words } = texts;
const COLOURS = { open: 'teal', paused: 'blue', failing: 'red', drained: 'gray', unknown: 'yellow' } as const;
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
        {words.summary({
          open: count('open'),
          failing: count('failing'),
          paused: count('paused'),
          drained: count('drained'),
          unknown: count('unknown'),
        })}
      </Text>
      <DataTable
        label={words.label}
        minWidth={860}
        isUnbroken
        columns={[
          { name: columns.upstream },
          { name: columns.state },
          { name: columns.answered },
          { name: columns.until },
          { name: columns.failures, isNumber: true },
          { name: columns.slots, isNumber: true },
          { name: columns.waiting, isNumber: true },
          { name: columns.action },
        ]}
      >
        {upstreams.map((upstream) => (
          <Table.Tr key={upstream.upstream}>
            <Table.Td>{upstream.upstream}</Table.Td>
            <Table.Td>
              <Badge variant="light" color={COLOURS[upstream.state]} tt="none" miw="max-content">
                {words.states[upstream.state]}
              </Badge>
              {upstream.pauseReason === undefined ? null : (
                <Text size="xs">{words.pauseReasons[upstream.pauseReason]}</Text>
              )}
            </Table.Td>
            <Table.Td>
              <Time seconds={upstream.answeredAt} none={words.neverAnswered} />
            </Table.Td>
            <Table.Td>
              <Until upstream={upstream} />
            </Table.Td>
            <Table.Td ta="end">{upstream.failures.toLocaleString('en')}</Table.Td>
            <Table.Td ta="end">{words.jobs(upstream.slotsTaken, upstream.caps)}</Table.Td>
            <Table.Td ta="end">{upstream.waiting.toLocaleString('en')}</Table.Td>
            <Table.Td>
              <DrainButton upstream={upstream} />
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </Stack>
  );
}

/** Both can be taken back at once, so neither is confirmed. */
function DrainButton({ upstream: { upstream, state } }: { readonly upstream: Upstream }) {
  const change = useDrain();
  const isDrained = state !== 'drained' && state !== 'paused';
  const label = isDrained ? words.drain : words.resume;
  return (
    <>
      <BusyButton
        size="compact-sm"
        variant="default"
        aria-label={`${label} ${upstream}`}
        title={isDrained ? words.drainHint : words.resumeHint}
        isBusy={change.isPending}
        onClick={() =>
          change.mutate(
            { upstream, isDrained },
            { onSuccess: () => notify(isDrained ? words.drained(upstream) : words.resumed(upstream)) },
          )
        }
      >
        {label}
      </BusyButton>
      {change.error === null ? null : <ErrorState error={change.error} />}
    </>
  );
}

function Until({ upstream: { state, retryAt, pausedUntil } }: { readonly upstream: Upstream }) {
  const nowMs = useNow();
  if (state === 'drained') return words.untilResumed;
  if (retryAt !== 0 && retryAt * 1000 <= nowMs) return words.retries;
  return <Time seconds={Math.max(retryAt, pausedUntil)} />;
}
