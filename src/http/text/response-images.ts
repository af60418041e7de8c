/** The images that the built-in tool `image_generation` generates, where a response is created and where it is read. */
import type { ParameterizedContext } from 'koa';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { EarlierItems } from '../../text/responses/decode-input.ts';
import type { DecodedResponsesRequest } from '../../text/responses/decode-request.ts';
import type { ConversationItem } from '../../text/responses/items.ts';
import type { ImageTool } from '../../text/tools/image-tool.ts';
import type { HttpContext } from '../app/context.ts';
import type { RequestState } from '../app/request-state.ts';
import type { BodyAllowance } from '../bodies/body-allowance.ts';
import { taskIdHeader } from '../media-calls/call.ts';
import type { TextCallRequest } from './detached-call.ts';
import { prepareImageTool } from './image-tool.ts';
import { withTaskImages } from './task-images.ts';

type Request = Pick<TextCallRequest, 'caller' | 'until'>;
type Parts = Pick<HttpContext, 'bodies' | 'database' | 'store' | 'now'>;

/** The memory of the images of one response, until it is over. */
function allowanceOf(http: Pick<HttpContext, 'bodies'>, { caller, until }: Request): BodyAllowance {
  const allowance = http.bodies.ofAccount(caller);
  until.addEventListener('abort', () => allowance.release());
  if (until.aborted) allowance.release();
  return allowance;
}

/** Reads the images of a stored response. */
export function imageReader(
  http: Parts,
  request: Request,
): (output: readonly ConversationItem[]) => Promise<readonly ConversationItem[]> {
  return (output) => withTaskImages(http, request.caller.accountId, output, allowanceOf(http, request));
}

/** What a request refers to, with the images that were generated, if the model takes images. */
export async function withEarlierImages(
  http: Parts,
  request: Request,
  { features }: Pick<TextModelDefinition, 'features'>,
  earlier: EarlierItems,
): Promise<EarlierItems> {
  if (!features.includes('images')) return earlier;
  const read = imageReader(http, request);
  const referenced = await read([...earlier.referenced.values()]);
  return {
    conversation: await read(earlier.conversation),
    referenced: new Map(referenced.map((item) => [item.id, item])),
  };
}

/**
 * The tool of a request, if its model may call it.
 *
 * @throws as `prepareImageTool`.
 */
export function imageToolOf(
  http: HttpContext,
  request: TextCallRequest,
  call: { readonly model: TextModelDefinition; readonly decoded: Pick<DecodedResponsesRequest, 'imageTool'> },
): ImageTool | undefined {
  const { imageTool: requested } = call.decoded;
  if (requested === undefined) return undefined;
  return prepareImageTool(http, {
    caller: request.caller,
    responseId: request.id,
    textModel: call.model,
    requested,
    allowance: allowanceOf(http, request),
    onTask: request.onTask,
  });
}

/** The tasks of the images of a request whose client waits. */
export interface ImageTasks {
  /** A header of a response that is not streamed has their ids. */
  onTask(taskIds: readonly TaskId[]): void;
  /** After an image was generated, a client that repeats failed requests by itself must not: it would pay for another. */
  withoutSecond<Result>(answering: Promise<Result>): Promise<Result>;
}

export function imageTasksOf(http: HttpContext, ctx: ParameterizedContext<RequestState>): ImageTasks {
  let hasTasks = false;
  return {
    onTask(taskIds) {
      const [first] = taskIds;
      if (first === undefined) return;
      hasTasks = true;
      ctx.state.createdTaskId = first;
      if (!ctx.headerSent) ctx.set(taskIdHeader(http), taskIds.join(', '));
    },
    async withoutSecond(answering) {
      try {
        return await answering;
      } catch (error) {
        if (hasTasks && !ctx.headerSent) ctx.set('x-should-retry', 'false');
        throw error;
      }
    },
  };
}
