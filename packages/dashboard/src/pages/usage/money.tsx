/** The account's money: available, and held. */
import { Text } from '@mantine/core';
import type { Account } from '../../api/account.ts';
import { Figure, Figures } from '../../components/figures.tsx';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/usage.ts';

const { money: words } = texts;

export function Money({ account: { available, held, balance } }: { readonly account: Account }) {
  const figures = [
    [words.available, available, words.availableHint],
    [words.held, held, words.heldHint],
    [words.balance, balance, words.balanceHint],
  ] as const;
  return (
    <Figures label={words.label}>
      {figures.map(([name, amount, hint]) => (
        <Figure key={name} name={name} value={formatUsd(amount)}>
          <Text size="sm" c="dimmed">
            {hint}
          </Text>
        </Figure>
      ))}
    </Figures>
  );
}
