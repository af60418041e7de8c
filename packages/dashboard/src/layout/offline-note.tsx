/**
 * A line above the page while the service does not answer: the data shown may be outdated. It disappears as soon as
 * anything is received, and everything that failed meanwhile is requested again.
 */
import { Alert } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { isUnavailable, isReadInParts } from '../api/query-client.ts';
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
        if (isUnavailable(state.fetchFailureReason) || isUnavailable(state.error)) {
          lastFailureAt = Math.max(lastFailureAt, state.errorUpdatedAt, 1);
        }
      }
      return lastFailureAt > 0 && lastFailureAt >= lastAnswerAt;
    },
  );
  const wasOffline = useRef(isOffline);
  useEffect(() => {
    if (wasOffline.current && !isOffline) {
      void client.refetchQueries({
        type: 'active',
        predicate: ({ state: { data, error } }) => error !== null && !isReadInParts(data),
      });
    }
    wasOffline.current = isOffline;
  }, [client, isOffline]);
  if (!isOffline) return null;
  return <Alert role="status" color="gray" icon={<IconPlugConnectedX />} title={texts.offline} mb="md" />;
}
