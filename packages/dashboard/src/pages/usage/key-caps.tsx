/** How close keys are to their spend caps, the closest first. */
import { Anchor, Box, SimpleGrid, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { useKeys } from '../../api/keys.ts';
import type { Key } from '../../api/keys.ts';
import { microsOf, percentOf } from '../../components/amounts.ts';
import { useNow } from '../../components/now.ts';
import { ErrorState } from '../../components/states.tsx';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/usage.ts';
import { isActive, stateOf } from '../keys/key-state.ts';
import { Spending } from '../keys/spending.tsx';

const { limits: words } = texts;
/** This many are enough to show whether any is close; the page of keys lists all of them. */
const MOST_SHOWN = 8;

export function KeyCaps() {
  const mayManage = useMay('keys:manage');
  return (
    <Box mt="md">
      <Title order={3} size="h6" mb="xs">
        {words.caps}
      </Title>
      {mayManage ? <Caps /> : <Text size="sm">{words.capsNeedScope}</Text>}
    </Box>
  );
}

function Caps() {
  const { data: keys, error, refetch } = useKeys(true);
  const now = useNow();
  if (keys === undefined) return error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />;
  const capped = keys
    .filter((key) => key.spendCaps !== null && isActive(stateOf(key, now)))
    .toSorted((one, other) => nearnessOf(other) - nearnessOf(one));
  if (capped.length === 0) return <Text size="sm">{words.noCaps}</Text>;
  return (
    <>
      {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="xl" verticalSpacing="md">
        {capped.slice(0, MOST_SHOWN).map((key) => (
          <Box key={key.id}>
            <Text size="sm" fw={600} mb={4}>
              {key.name}
            </Text>
            <Spending apiKey={key} />
          </Box>
        ))}
      </SimpleGrid>
      {capped.length <= MOST_SHOWN ? null : (
        <Text size="sm" mt="sm">
          {words.capsNearest(MOST_SHOWN, capped.length)}{' '}
          <Anchor component={Link} href="/keys" underline="always" inherit>
            {words.allKeys}
          </Anchor>
        </Text>
      )}
    </>
  );
}

/** @returns percent of the cap that is closer. */
function nearnessOf({ spendCaps, spent }: Key): number {
  if (spendCaps === null || spent === null) return 0;
  const nearness = (used: string, cap: string | null): number =>
    cap === null ? 0 : percentOf(microsOf(used), microsOf(cap));
  return Math.max(nearness(spent.day, spendCaps.day), nearness(spent.total, spendCaps.total));
}
