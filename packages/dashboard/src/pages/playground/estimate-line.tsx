/** The most that the run can cost, and how it is computed. */
import { Stack, Text } from '@mantine/core';
import type { Estimate } from '../../api/estimate.ts';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/playground.ts';

interface EstimateLineProps {
  readonly estimate: Estimate | undefined;
  readonly isCurrent: boolean;
  /** Whether the form is complete. */
  readonly isComplete: boolean;
}

export function EstimateLine({ estimate, isCurrent, isComplete }: EstimateLineProps) {
  const cost = estimate?.maxCost ?? null;
  const [line] = estimate?.breakdown ?? [];
  return (
    <Stack gap={0} aria-live="polite" miw={0}>
      <Text size="sm" fw={600}>
        {!isComplete
          ? texts.noEstimate
          : cost !== null
            ? texts.costs(formatUsd(cost))
            : isCurrent
              ? texts.noEstimate
              : texts.estimating}
      </Text>
      {!isComplete || line === undefined ? null : (
        <Text size="xs">
          {texts.breakdown(
            line.quantity,
            texts.units[line.unit] ?? line.unit,
            formatUsd(line.unitPrice),
            line.factors.map(({ field, factor }) => texts.factor(factor, field)),
          )}
        </Text>
      )}
      {isComplete && estimate?.balanceSufficient === false ? (
        <Text size="sm" c="var(--mantine-color-error)">
          {texts.notEnough}
        </Text>
      ) : null}
    </Stack>
  );
}
