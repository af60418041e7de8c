import type { MessageId } from '@darkroom/api/mcp/json-rpc';
import type { Caller } from '../../accounts/authenticate.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

/** What the middleware passes on to the handlers: Koa's `ctx.state`. */
export interface RequestState {
  requestId: string;
  /** Only on routes that need a key. */
  caller: Caller;
  /** The task that this request created. */
  createdTaskId?: TaskId;
  /** The id of the JSON-RPC message in this request, once it was read. */
  messageId?: MessageId;
}
