/** What the endpoints of text models need to decode a request, whether a client waits for its answer or not. */
import type { Caller } from '../../accounts/authenticate.ts';

export interface TextCallRequest {
  /** The id of the call. */
  readonly id: string;
  readonly caller: Caller;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Aborted when the answer is over: what the call has in memory is released. */
  readonly until: AbortSignal;
}
