/** Creates tasks and uploads their inputs: a create is sent with its own key, so that it can be sent again. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { CreatedTaskSchema } from '@darkroom/api/tasks/create-task';
import type { FileSchema } from '@darkroom/api/tasks/file';
import { ACCOUNT_QUERY } from './account.ts';
import { api } from './api.ts';
import type { TaskRequest } from './task-request.ts';
import type { Task } from './tasks.ts';

interface Press {
  readonly request: TaskRequest;
  /** The same for every attempt of one press: the first that arrives counts. */
  readonly idempotencyKey: string;
}

/** 128 random bits; `randomUUID` is only available on a page loaded over HTTPS. */
function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The request of one press of a run button. */
export function pressFor(request: TaskRequest): Press {
  return { request, idempotencyKey: `dashboard-${newIdempotencyKey()}` };
}

/** Creates a task. @throws {ApiError} it is rejected. @throws {UnreachableError} it may have been created: retry it. */
export function useCreateTask(onCreated: (taskId: string, request: TaskRequest) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ request, idempotencyKey }: Press) =>
      api.call<Static<typeof CreatedTaskSchema>>('POST', '/v1/tasks', {
        body: request,
        headers: { 'Idempotency-Key': idempotencyKey },
      }),
    onSuccess({ taskId }, { request }) {
      onCreated(taskId, request);
      void client.invalidateQueries({ queryKey: ACCOUNT_QUERY });
    },
  });
}

/** A task with its input. @param taskId undefined: no request is sent. */
export function useTaskInput(taskId: string | undefined) {
  return useQuery({
    queryKey: ['task-input', taskId],
    queryFn: ({ signal }) =>
      api.call<Task>('GET', `/v1/tasks/${encodeURIComponent(taskId ?? '')}`, { query: { include: 'input' }, signal }),
    enabled: taskId !== undefined,
    staleTime: Infinity,
  });
}

/** The newest tasks. @param size at most 100. */
export function useNewestTasks(size: number, isEnabled: boolean) {
  return useQuery({
    queryKey: ['tasks', 'newest', size],
    queryFn: ({ signal }) =>
      api.call<{ tasks: readonly Task[]; total: number }>('GET', '/v1/tasks', { query: { size }, signal }),
    enabled: isEnabled,
    refetchInterval: 5_000,
  });
}

export type UploadedFile = Static<typeof FileSchema>;

/** Uploads a file for an input; its URL is valid for a day. */
export function useUpload() {
  return useMutation({
    mutationFn: (file: File) => api.call<UploadedFile>('POST', '/v1/files', { body: file }),
  });
}
