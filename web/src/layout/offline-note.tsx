/**
 * A line above the page while the service does not answer: what is shown may be old. It goes as soon as anything arrives.
 */
import { Alert } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { UnreachableError } from '../api/api.ts';
import { texts } from '../texts/common.ts';

export function OfflineNote() {
  const client = useQueryClient();
  const isOffline = useSyncExternalStore(
    (changed) => client.getQueryCache().subscribe(changed),
    () => {
      let lastAnswerAt = 0;
      let lastFailureAt = 0;
      for (const { state } of client.getQueryCache().getAll()) {
        lastAnswerAt = Math.max(lastAnswerAt, state.dataUpdatedAt);
        if (state.fetchFailureReason instanceof UnreachableError || state.error instanceof UnreachableError) {
          lastFailureAt = Math.max(lastFailureAt, state.errorUpdatedAt, 1);
        }
      }
      return lastFailureAt > 0 && lastFailureAt >= lastAnswerAt;
    },
  );
  if (!isOffline) return null;
  return <Alert role="status" color="gray" icon={<IconPlugConnectedX />} title={texts.offline} mb="md" />;
}
