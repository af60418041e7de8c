/** What the endpoints of text models need to decode a request, whether a client waits for its answer or not. */
import type { Caller } from '../../accounts/authenticate.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

export interface TextCallRequest {
  /** The id of the call. */
  readonly id: string;
  readonly caller: Caller;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Aborted when the answer is over: what the call has in memory is released. */
  readonly until: AbortSignal;
  /** A task was created for the built-in tool of the call, or found: those of the call so far. */
  readonly onTask?: ((taskIds: readonly TaskId[]) => void) | undefined;
}
