/** What calls take. Apart from the client, so that the declarations of the package name nothing that it does not have. */
import type { ApiError } from './errors.ts';
import type { Task, TaskRequest, TaskStatus } from './generated/types.ts';

/** How one call differs from the settings of its client. */
export interface CallOptions {
  /** Ends the call; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit of each attempt, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is sent again that can succeed later: 408, 429, 5xx, no response. */
  readonly maxRetries?: number | undefined;
}

export interface DarkroomOptions {
  /** Where the service is: `https://darkroom.example.com`, with or without `/v1`. */
  readonly baseUrl: string | undefined;
  /** An API key, or what returns one for each request: a browser can fetch tokens that expire soon. */
  readonly apiKey: string | (() => string | Promise<string>) | undefined;
  /** The time limit of each request, in milliseconds. Default: 60,000; of an upload an hour. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is sent again that can succeed later: 408, 429, 5xx, no response. Default: 5. */
  readonly maxRetries?: number | undefined;
  /** Default: the platform's. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The options of a task, as `POST /tasks` has them. */
export interface SubmitOptions extends CallOptions, Omit<TaskRequest, 'model' | 'input'> {
  /** The same key never creates a second task. Default: a random one for each call, which its retries reuse. */
  readonly idempotencyKey?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** How long to wait in all, in milliseconds. Default: until the task has ended. */
  readonly waitMs?: number | undefined;
  /** Called with the task each time it was read. */
  readonly onUpdate?: ((task: Task) => void) | undefined;
}

export interface RunOptions extends SubmitOptions, WaitOptions {
  /** Whether the task, once it was accepted, is cancelled if the signal ends the call. By default it continues. */
  readonly cancelOnAbort?: boolean | undefined;
}

export interface ListQuery {
  /** The number of tasks per page, 1 to 100. Default: 10. */
  readonly size?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
  readonly status?: readonly TaskStatus[] | undefined;
  readonly model?: string | undefined;
  readonly keyId?: string | undefined;
  readonly ids?: readonly string[] | undefined;
  /** Unix seconds. */
  readonly createdAfter?: number | undefined;
  /** Unix seconds. */
  readonly createdBefore?: number | undefined;
  /** Only tasks with all of these pairs in their metadata. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A task that was accepted. */
export interface SubmittedTask {
  readonly taskId: string;
  /** With which the same call returns the same task again. */
  readonly idempotencyKey: string;
}

/** A task of `submitMany`: as `POST /tasks` has it, with a key of its own. */
export interface NewTask extends TaskRequest {
  /** As that of `submit`. */
  readonly idempotencyKey?: string | undefined;
}

/** What became of a task of `submitMany`: it was accepted, or rejected by itself. */
export type SubmitOutcome =
  | (SubmittedTask & { readonly error?: undefined })
  | { readonly taskId?: undefined; readonly idempotencyKey: string; readonly error: ApiError };

/** A task, or what else has its id. */
export type TaskReference = string | { readonly taskId: string };

/** A request of the API. A `body` is sent as JSON, unless it is a `Blob`. */
export interface ApiRequest {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SubscribeOptions extends CallOptions {
  /** Only events after this `seq`: that of the last event that was handled. Default: all. */
  readonly after?: number | undefined;
}
