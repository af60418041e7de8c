/** Receivers whose callbacks fail: since when, how the last attempt ended, and how the state ends. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Account } from '../../api/account.ts';
import { ErrorState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/webhooks.ts';

type Problem = NonNullable<Account['callbackProblems']>[number];

interface FailingReceiversProps {
  readonly mayRead: boolean;
  readonly problems: readonly Problem[];
  /** Why nothing could be read. */
  readonly error: Error | null;
  readonly onRetry: () => void;
  /** Undefined: the attempts may not be read. */
  readonly onShowAttempts: ((origin: string) => void) | undefined;
}

export function FailingReceivers({ mayRead, problems, error, onRetry, onShowAttempts }: FailingReceiversProps) {
  if (!mayRead) {
    return (
      <Text size="sm" c="dimmed">
        {texts.failing.unknown}
      </Text>
    );
  }
  if (error !== null) return <ErrorState error={error} onRetry={onRetry} />;
  if (problems.length === 0) return null;
  return (
    <Alert role="status" color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.failing.title}>
      <Stack gap="sm">
        {problems.map((problem) => (
          <Receiver key={problem.origin} problem={problem} onShowAttempts={onShowAttempts} />
        ))}
        <Text size="sm">{texts.failing.remedy}</Text>
      </Stack>
    </Alert>
  );
}

function Receiver(props: { readonly problem: Problem } & Pick<FailingReceiversProps, 'onShowAttempts'>) {
  const { problem, onShowAttempts } = props;
  const { origin, givenUp, failingSince, lastStatus: status, lastErrorClass: errorClass, isReduced } = problem;
  return (
    <Group justify="space-between" gap="xs">
      <Text size="sm" component="div" flex="1 1 16rem">
        {texts.failing.told(origin, givenUp)}{' '}
        {texts.failing.last({ status, ...(errorClass === undefined ? {} : { errorClass }) })} {texts.failing.since}{' '}
        <Time seconds={failingSince} />. {isReduced ? texts.failing.reduced : null}
      </Text>
      {onShowAttempts === undefined ? null : (
        <Button
          size="xs"
          variant="default"
          aria-label={texts.failing.showAttemptsOf(origin)}
          onClick={() => onShowAttempts(origin)}
        >
          {texts.failing.showAttempts}
        </Button>
      )}
    </Group>
  );
}
