/**
 * One task: its detail with its input, its events, and the actions on it. While it runs a stream of events reports
 * changes at once; if no stream stays open, polling does.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Static } from 'typebox';
import type { CallbackAttemptsSchema } from '@darkroom/api/tasks/callback';
import type { EventsSchema } from '@darkroom/api/tasks/event';
import { api, isRetryable } from './api.ts';
import { isOver } from './tasks.ts';
import type { Task } from './tasks.ts';

export type TaskEvent = Static<typeof EventsSchema>['events'][number];
export type CallbackAttempts = Static<typeof CallbackAttemptsSchema>;

/** Only the detail contains the progress. */
const RUNNING_EVERY_MS = 2_500;
const CALLBACK_EVERY_MS = 5_000;
/** An output's URL is valid for half an hour (contract §3). */
const OVER_EVERY_MS = 600_000;
const STREAM_AGAIN_MS = 2_000;

const detailKey = (taskId: string) => ['task', taskId, 'detail'] as const;
const eventsKey = (taskId: string) => ['task', taskId, 'events'] as const;
const attemptsKey = (taskId: string) => ['task', taskId, 'attempts'] as const;

function pathOf(taskId: string): string {
  return `/v1/tasks/${encodeURIComponent(taskId)}`;
}

/** Whether the callback may still be attempted automatically. */
export function isDelivering(task: Task): boolean {
  return task.callback?.state === 'pending';
}

export function useTask(taskId: string) {
  return useQuery({
    queryKey: detailKey(taskId),
    queryFn: ({ signal }) => api.call<Task>('GET', pathOf(taskId), { query: { include: 'input' }, signal }),
    refetchInterval: ({ state: { data, error } }) => {
      if (error !== null && !isRetryable(error)) return false;
      if (data === undefined || !isOver(data.status)) return RUNNING_EVERY_MS;
      return isDelivering(data) || data.callback?.state === 'waiting' ? CALLBACK_EVERY_MS : OVER_EVERY_MS;
    },
  });
}

/**
 * The events of a task, in order: first all past ones, then each one as it happens, until no more are expected.
 *
 * @param isAwaited whether more may arrive without user action.
 */
export function useTaskEvents(taskId: string, isAwaited: boolean) {
  const client = useQueryClient();
  useEffect(() => {
    if (!isAwaited) return undefined;
    const ending = new AbortController();
    void followEvents(taskId, ending.signal, {
      lastSeq: () => client.getQueryData<readonly TaskEvent[]>(eventsKey(taskId))?.at(-1)?.seq ?? 0,
      onEvent(event) {
        client.setQueryData<readonly TaskEvent[]>(eventsKey(taskId), (events = []) =>
          event.seq > (events.at(-1)?.seq ?? 0) ? [...events, event] : events,
        );
        void client.invalidateQueries({ queryKey: detailKey(taskId) });
        if (event.type.startsWith('callback_')) void client.invalidateQueries({ queryKey: attemptsKey(taskId) });
      },
    });
    return () => ending.abort();
  }, [client, taskId, isAwaited]);
  return useQuery({
    queryKey: eventsKey(taskId),
    queryFn: async ({ signal }) => {
      const known = client.getQueryData<readonly TaskEvent[]>(eventsKey(taskId)) ?? [];
      return [...known, ...(await readEventsAfter(taskId, known.at(-1)?.seq ?? 0, signal))];
    },
    // The stream may have delivered some of them meanwhile.
    structuralSharing: (before, now) => longer(before as readonly TaskEvent[] | undefined, now as readonly TaskEvent[]),
    enabled: !isAwaited,
    // What the stream has brought is no reason not to read the rest when the detail was first to report the end.
    staleTime: 0,
  });
}

function longer(before: readonly TaskEvent[] | undefined, now: readonly TaskEvent[]): readonly TaskEvent[] {
  return before !== undefined && before.length >= now.length ? before : now;
}

async function readEventsAfter(taskId: string, after: number, signal: AbortSignal): Promise<readonly TaskEvent[]> {
  const all: TaskEvent[] = [];
  for (;;) {
    const query = { after: all.at(-1)?.seq ?? after };
    const path = `${pathOf(taskId)}/events`;
    const { events } = await api.call<{ events: readonly TaskEvent[] }>('GET', path, { query, signal });
    if (events.length === 0) return all;
    all.push(...events);
  }
}

interface Follower {
  readonly lastSeq: () => number;
  readonly onEvent: (event: TaskEvent) => void;
}

/** Follows until the signal fires; a stream that breaks, or ends with the task, is reopened after a while. */
async function followEvents(taskId: string, signal: AbortSignal, { lastSeq, onEvent }: Follower): Promise<void> {
  while (!signal.aborted) {
    try {
      const stream = api.events('GET', `${pathOf(taskId)}/events`, {
        headers: { 'Last-Event-ID': String(lastSeq()) },
        signal,
      });
      for await (const { data } of stream) onEvent(JSON.parse(data) as TaskEvent);
    } catch (error) {
      // The detail shows the error on the page.
      if (signal.aborted || !isRetryable(error)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, STREAM_AGAIN_MS));
  }
}

/** @param version changes whenever there may be another attempt. */
export function useCallbackAttempts(taskId: string, version: string) {
  return useQuery({
    queryKey: [...attemptsKey(taskId), version],
    queryFn: ({ signal }) => api.call<CallbackAttempts>('GET', `${pathOf(taskId)}/callback/attempts`, { signal }),
    placeholderData: (before) => before,
  });
}

/** Actions on a task return its detail. */
export function useTaskAction(taskId: string, action: 'cancel' | 'erase' | 'callback/redeliver') {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => api.call<Task>('POST', `${pathOf(taskId)}/${action}`),
    onSuccess: async () => {
      if (action === 'callback/redeliver') void client.invalidateQueries({ queryKey: ['callback-attempts'] });
      await client.invalidateQueries({ queryKey: ['task', taskId] });
    },
  });
}

/** A task's outputs have changed: its detail and events are read again. */
export function useRefreshTask(taskId: string): () => void {
  const client = useQueryClient();
  return () => void client.invalidateQueries({ queryKey: ['task', taskId] });
}
