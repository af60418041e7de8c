/** The limits of the account, and how close it is to those that fill up. */
import { Box, Group, Progress, SimpleGrid, Text } from '@mantine/core';
import type { Account } from '../../api/account.ts';
import { percentOf } from '../../components/amounts.ts';
import { formatBytes } from '../../components/quantities.ts';
import { texts } from '../../texts/usage.ts';
import { Fact, Section } from '../tasks/section.tsx';
import { KeyCaps } from './key-caps.tsx';

const { limits: words } = texts;
const FILLED = ['runningTasks', 'queuedTasks', 'textStreams', 'persistentBytes'] as const;
const RATES = ['createsPerMinute', 'readsPerMinute', 'textRequestsPerMinute', 'textTokensPerMinute'] as const;
/** A definition list must not have an element between itself and its items: it is its own grid. */
const RATE_COLUMNS = {
  display: 'grid',
  gridTemplateColumns: 'repeat(auto-fit, minmax(min(24rem, 100%), 1fr))',
  columnGap: 'var(--mantine-spacing-xl)',
} as const;
/** From here on it is stated in words. */
const NEAR_PERCENT = 80;

export function Limits({ account: { limits, usage } }: { readonly account: Account }) {
  return (
    <Section title={words.title}>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="xl" verticalSpacing="md">
        {FILLED.map((name) => (
          <Filled
            key={name}
            name={words.used[name]}
            used={usage[name]}
            limit={limits[name]}
            format={name === 'persistentBytes' ? formatBytes : formatCount}
          />
        ))}
      </SimpleGrid>
      <Box mt="md">
        <Box component="dl" m={0} style={RATE_COLUMNS}>
          {RATES.map((name) => (
            <Fact key={name} name={words.rates[name]}>
              {formatCount(limits[name])}
            </Fact>
          ))}
        </Box>
      </Box>
      <KeyCaps />
    </Section>
  );
}

function Filled(props: {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  readonly format: (amount: number) => string;
}) {
  const { name, used, limit, format } = props;
  const percent = percentOf(BigInt(used), BigInt(limit));
  const sum = words.of(format(used), format(limit));
  const near = percent >= 100 ? words.reached : percent >= NEAR_PERCENT ? words.nearlyReached : undefined;
  return (
    <Box>
      <Text size="sm">{name}</Text>
      <Group justify="space-between" gap="xs" mb={4}>
        <Text size="sm" fw={600}>
          {sum}
        </Text>
        {near === undefined ? null : <Text size="sm">{near}</Text>}
      </Group>
      <Progress
        value={Math.min(percent, 100)}
        color={percent >= 100 ? 'red' : percent >= NEAR_PERCENT ? 'yellow' : 'teal'}
        aria-label={`${name}: ${sum}`}
      />
    </Box>
  );
}

function formatCount(amount: number): string {
  return amount.toLocaleString('en');
}
