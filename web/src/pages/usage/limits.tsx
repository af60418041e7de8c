/** The limits of the account, and how near it is to those that fill up. */
import { Box, Group, Progress, SimpleGrid, Text } from '@mantine/core';
import type { Account } from '../../api/account.ts';
import { percentOf } from '../../components/amounts.ts';
import { formatBytes } from '../../components/quantities.ts';
import { texts } from '../../texts/usage.ts';
import { Fact, Facts, Section } from '../tasks/section.tsx';

const { limits: words } = texts;
const FILLED = ['runningTasks', 'queuedTasks', 'textStreams', 'persistentBytes'] as const;
const RATES = ['createsPerMinute', 'readsPerMinute', 'textRequestsPerMinute', 'textTokensPerMinute'] as const;
/** From here on it is said in words. */
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
        <Facts>
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing={0}>
            {RATES.map((name) => (
              <Fact key={name} name={words.rates[name]}>
                {formatCount(limits[name])}
              </Fact>
            ))}
          </SimpleGrid>
        </Facts>
      </Box>
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
