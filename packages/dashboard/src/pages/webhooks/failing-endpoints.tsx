/** Endpoints whose deliveries fail: since when, how the last attempt ended, and how the state ends. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { Account } from '../../api/account.ts';
import { ErrorState } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/webhooks.ts';

type FailingEndpoint = NonNullable<Account['callbackProblems']>[number];

interface FailingEndpointsProps {
  readonly mayRead: boolean;
  readonly endpoints: readonly FailingEndpoint[];
  /** Why nothing could be read. */
  readonly error: Error | null;
  readonly onRetry: () => void;
  /** Undefined: the attempts may not be read. */
  readonly onShowAttempts: ((origin: string) => void) | undefined;
}

export function FailingEndpoints({ mayRead, endpoints, error, onRetry, onShowAttempts }: FailingEndpointsProps) {
  if (!mayRead) {
    return (
      <Text size="sm" c="dimmed">
        {texts.failing.unknown}
      </Text>
    );
  }
  if (error !== null) return <ErrorState error={error} onRetry={onRetry} />;
  if (endpoints.length === 0) return null;
  return (
    <Alert role="status" color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.failing.title}>
      <Stack gap="sm">
        {endpoints.map((endpoint) => (
          <Endpoint key={endpoint.origin} endpoint={endpoint} onShowAttempts={onShowAttempts} />
        ))}
        <Text size="sm">{texts.failing.remedy}</Text>
      </Stack>
    </Alert>
  );
}

function Endpoint(props: { readonly endpoint: FailingEndpoint } & Pick<FailingEndpointsProps, 'onShowAttempts'>) {
  const { endpoint, onShowAttempts } = props;
  const { origin, givenUp, failingSince, lastStatus: status, lastErrorClass: errorClass, isReduced } = endpoint;
  return (
    <Group justify="space-between" gap="xs">
      <Text size="sm" component="div" flex="1 1 16rem">
        {texts.failing.of(origin, givenUp)}{' '}
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
