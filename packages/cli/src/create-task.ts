/**
 * Creates a task once, even if the answer is lost on the way: the request is sent again under the same
 * Idempotency-Key, for which the service returns the same task (spec §4.1).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { UnreachableError, isOutcomeUnknown, isRetryRequested, isRetryable } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';

/** The body of `POST /tasks`. */
export interface TaskRequest {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly route?: string;
  readonly storage?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly callback?: { readonly url: string };
  readonly maxCost?: string;
  readonly timeoutSeconds?: number;
}

export interface CreateOptions {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Waits between the requests, doubling: 31 s in total. */
const RESEND_WAITS_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

/**
 * Creates a task.
 *
 * @returns its id.
 * @throws {ApiError} rejected. @throws {UnreachableError} no answer was received: the message states how to find out
 *   whether the task was created.
 */
export async function createTask(api: ApiClient, request: TaskRequest, options: CreateOptions): Promise<string> {
  const { idempotencyKey, signal, say } = options;
  const headers = { 'Idempotency-Key': idempotencyKey };
  let mayExist = false;
  for (let attempt = 0; ; attempt++) {
    try {
      const { taskId } = await api.call<{ readonly taskId: string }>('POST', '/tasks', { body: request, headers });
      return taskId;
    } catch (error) {
      if (signal.aborted || !isRetryable(error)) throw error;
      mayExist ||= isOutcomeUnknown(error);
      // A retry that the service requests has already been waited for (retrying-client.ts).
      const waitMs = isRetryRequested(error) ? undefined : RESEND_WAITS_MS[attempt];
      if (waitMs === undefined) {
        if (!mayExist) throw error;
        const message = `${(error as Error).message}; it is unknown whether the task was created: the same command with --idempotency-key ${idempotencyKey} continues it, or creates it`;
        throw new UnreachableError(message, { cause: error });
      }
      say(`${(error as Error).message}; retrying with the same Idempotency-Key`);
      await sleep(waitMs, undefined, { signal });
    }
  }
}
