/** How much persistent storage is used, of how much, and its cost. */
import { Group, Paper, Progress, Text } from '@mantine/core';
import { useAccount } from '../../api/account.ts';
import { percentOf } from '../../components/amounts.ts';
import { formatUsd } from '../../components/money.ts';
import { formatBytes } from '../../components/quantities.ts';
import { useMay } from '../../session/session.tsx';
import { texts } from '../../texts/storage.ts';
import { monthlyUsd } from './storage-cost.ts';

export function StorageSummary() {
  const { data: account } = useAccount(useMay('billing:read'));
  if (account === undefined) return null;
  const { usage, limits, storagePrice } = account;
  return (
    <Paper withBorder p="md" mb="lg">
      <Group justify="space-between" mb={6} gap="xs">
        <Text fw={600} size="sm">
          {texts.usedTitle}
        </Text>
        <Text size="sm">{texts.used(formatBytes(usage.persistentBytes), formatBytes(limits.persistentBytes))}</Text>
      </Group>
      <Progress
        value={percentOf(BigInt(usage.persistentBytes), BigInt(limits.persistentBytes))}
        aria-label={texts.usedLabel}
      />
      <Text size="sm" mt="xs">
        {storagePrice === undefined
          ? null
          : `${texts.monthlyCost} ${texts.perMonth(formatUsd(monthlyUsd(usage.persistentBytes, storagePrice)))} ${texts.price(formatUsd(storagePrice))}. `}
        {texts.temporaryHint}
      </Text>
    </Paper>
  );
}
