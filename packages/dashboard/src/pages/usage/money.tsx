/** The account's money: available, and held. */
import { Paper, SimpleGrid, Text } from '@mantine/core';
import type { Account } from '../../api/account.ts';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/usage.ts';

const { money: words } = texts;

export function Money({ account: { available, held, balance } }: { readonly account: Account }) {
  return (
    <SimpleGrid component="section" aria-label={words.label} cols={{ base: 1, xs: 3 }} spacing="lg">
      <Figure name={words.available} amount={available} hint={words.availableHint} />
      <Figure name={words.held} amount={held} hint={words.heldHint} />
      <Figure name={words.balance} amount={balance} hint={words.balanceHint} />
    </SimpleGrid>
  );
}

function Figure(props: { readonly name: string; readonly amount: string; readonly hint: string }) {
  return (
    <Paper withBorder p="md">
      <Text size="sm">{props.name}</Text>
      <Text fz={26} fw={650} lh={1.3}>
        {formatUsd(props.amount)}
      </Text>
      <Text size="sm" c="dimmed">
        {props.hint}
      </Text>
    </Paper>
  );
}
