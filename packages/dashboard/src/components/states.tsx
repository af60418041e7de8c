/**
 * What a page shows while it has no data: it is loading, it failed, there is nothing yet.
 */
import { Alert, Button, Center, Code, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { ApiError, UnreachableError } from '../api/api.ts';
import { isUnavailable } from '../api/query-client.ts';
import { texts } from '../texts/common.ts';

export function LoadingState() {
  return (
    <Center mih="12rem" role="status" aria-label={texts.loading}>
      <Loader />
    </Center>
  );
}

/** Shows an error with the service's message, and the request id if there is one. */
export function ErrorState({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  // A proxy in between reports that the service is unavailable, with a message that is not ours.
  const isOffline =
    error instanceof UnreachableError || (error instanceof ApiError && error.errorCode === '' && isUnavailable(error));
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Alert
      role="alert"
      color={isOffline ? 'gray' : 'red'}
      icon={isOffline ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={isOffline ? texts.unreachable : titleOf(error)}
      my="md"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{isOffline ? texts.unreachableHint : error.message}</Text>
        {requestId === undefined ? null : (
          <Text size="xs" c="dimmed">
            {texts.requestId} <Code>{requestId}</Code>
          </Text>
        )}
        {onRetry === undefined ? null : (
          <Button size="xs" variant="default" onClick={onRetry}>
            {texts.tryAgain}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

function titleOf(error: Error): string {
  if (!(error instanceof ApiError)) return texts.somethingBroke;
  const { kind } = error;
  if (kind === 'account_suspended') return texts.suspended;
  if (kind === 'forbidden' || kind === 'url_expired') return texts.notAllowed;
  if (kind === 'not_found' || kind === 'task_pruned') return texts.notFound;
  if (kind === 'rate_limited') return texts.tooMuch;
  if (kind === 'unavailable') return texts.unavailable;
  return factsOf(kind).status >= 500 ? texts.serviceFailed : texts.rejected;
}

/** There is nothing here yet: describes what would be here, and the first step. */
export function EmptyState(props: {
  readonly icon?: ReactNode;
  readonly title: string;
  /** Level of its heading; default 2: it is on a page that has a title. */
  readonly order?: 1 | 2;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <Center mih="16rem" p="md">
      <Stack align="center" gap="xs" maw="32rem">
        {props.icon}
        <Title order={props.order ?? 2} size="h4" ta="center">
          {props.title}
        </Title>
        <Text c="dimmed" ta="center" component="div">
          {props.children}
        </Text>
        <Group mt="xs">{props.action}</Group>
      </Stack>
    </Center>
  );
}
