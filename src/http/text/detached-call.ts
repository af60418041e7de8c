/** What the endpoints of text models need to decode a request, whether a client waits for its answer or not. */
import type { Caller } from '../../accounts/authenticate.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

export interface TextCallRequest {
  /** The id of the call. */
  readonly id: string;
  readonly caller: Caller;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Aborted when the answer is over: what the call has in memory is released. Made when it is asked for. */
  readonly until: () => AbortSignal;
  /** Absent: no client waits for the answer. */
  readonly client?: WaitingClient | undefined;
}

/** The client of a response, for the images that the response generates. */
export interface WaitingClient {
  /** Identifies the request among those that wait for a task (tasks/create/awaited-responses.ts). */
  readonly waiter: string;
  /** Whether it repeats a request whose response it did not get. */
  readonly isRetry: boolean;
  /** A task was created, or found: all so far. */
  readonly onTask: (taskIds: readonly TaskId[]) => void;
}
