/** The spending of a key, compared with its caps. */
import { Box, Group, Progress, Stack, Text } from '@mantine/core';
import type { Key } from '../../api/keys.ts';
import { microsOf, percentOf } from '../../components/amounts.ts';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/keys.ts';

export function Spending({ apiKey: { id, spendCaps, spent, cappedBy } }: { readonly apiKey: Key }) {
  const others = cappedBy.filter((capId) => capId !== id).length;
  return (
    <Stack gap={6}>
      {spendCaps === null || spent === null ? <Text size="sm">{texts.noCaps}</Text> : null}
      {spendCaps?.day != null && spent !== null ? (
        <Cap name={texts.capToday} spent={spent.day} cap={spendCaps.day} />
      ) : null}
      {spendCaps?.total != null && spent !== null ? (
        <Cap name={texts.capTotal} spent={spent.total} cap={spendCaps.total} />
      ) : null}
      {others === 0 || spendCaps !== null ? null : (
        <Text size="xs" c="dimmed">
          {texts.cappedByOthers(others)}
        </Text>
      )}
    </Stack>
  );
}

function Cap({ name, spent, cap }: { readonly name: string; readonly spent: string; readonly cap: string }) {
  const percent = percentOf(microsOf(spent), microsOf(cap));
  const words = texts.spentOf(formatUsd(spent), formatUsd(cap));
  return (
    <Box>
      <Group justify="space-between" gap="xs">
        <Text size="xs">{name}</Text>
        <Text size="xs">{percent >= 100 ? `${words}, ${texts.capReached}` : words}</Text>
      </Group>
      <Progress
        value={Math.min(percent, 100)}
        color={percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'teal'}
        aria-label={`${name}: ${words}`}
      />
    </Box>
  );
}
