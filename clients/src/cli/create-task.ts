/**
 * Creates a task once, also where the answer is lost on the way: the request is sent again under the same
 * Idempotency-Key, which the service answers with the same task (spec §4.1).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, UnreachableError } from '../api/api-client.ts';
import type { ApiClient } from '../api/api-client.ts';

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

/** Waits between the requests, doubling: 31 s in all. */
const RESEND_WAITS_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

/**
 * Creates a task.
 *
 * @returns its id.
 * @throws {ApiError} refused. @throws {UnreachableError} no answer came: the message tells how to find out what became
 *   of it.
 */
export async function createTask(api: ApiClient, request: TaskRequest, options: CreateOptions): Promise<string> {
  const { idempotencyKey, signal, say } = options;
  const headers = { 'Idempotency-Key': idempotencyKey };
  for (let attempt = 0; ; attempt++) {
    try {
      const { taskId } = await api.call<{ readonly taskId: string }>('POST', '/tasks', { body: request, headers });
      return taskId;
    } catch (error) {
      if (signal.aborted || !isOutcomeUnknown(error)) throw error;
      // What asks for patience has had it.
      const isTriedOut = error instanceof ApiError && error.status === 503;
      const waitMs = isTriedOut ? undefined : RESEND_WAITS_MS[attempt];
      if (waitMs === undefined) {
        const message = `${(error as Error).message}; whether the task was created is not known: the same command with --idempotency-key ${idempotencyKey} goes on with it, or creates it`;
        throw new UnreachableError(message, { cause: error });
      }
      say(`${(error as Error).message}; asking again under the same Idempotency-Key`);
      await sleep(waitMs, undefined, { signal });
    }
  }
}

/** Whether the service may have taken the request all the same. */
function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  return error instanceof ApiError && (error.status >= 500 || error.status === 408 || error.status === 409);
}
