/** The images that the built-in tool `image_generation` generates, where a response is created and where it is read. */
import type { ServerResponse } from 'node:http';
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { newId } from '../../domain/ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { markReceived, releaseResponse } from '../../tasks/create/awaited-responses.ts';
import type { EarlierItems } from '../../text/responses/decode-input.ts';
import type { DecodedResponsesRequest, ResponsesBody } from '../../text/responses/decode-request.ts';
import { isImageCall } from '../../text/responses/image-calls.ts';
import type { ConversationItem } from '../../text/responses/items.ts';
import type { HttpContext } from '../app/context.ts';
import type { RequestState } from '../app/request-state.ts';
import type { BodyAllowance } from '../bodies/body-allowance.ts';
import { isRetry, taskIdHeader, whenClosed } from '../media-calls/call.ts';
import { prepareImageTool } from './image-tool.ts';
import type { PreparedImageTool } from './image-tool.ts';
import { withTaskImages } from './task-images.ts';

interface Request {
  readonly caller: Caller;
  readonly ctx: { readonly res: ServerResponse };
}

type Parts = Pick<HttpContext, 'bodies' | 'database' | 'store' | 'now'>;

/**
 * The memory of the images of one response, until its connection is closed. What is read after that is dropped at once,
 * and not counted: nothing would release it.
 */
function allowanceOf(http: Pick<HttpContext, 'bodies'>, { caller, ctx }: Request): Pick<BodyAllowance, 'hold'> {
  const allowance = http.bodies.ofAccount(caller);
  ctx.res.once('close', () => allowance.release());
  return {
    hold(bytes) {
      if (!ctx.res.closed && !ctx.res.destroyed) allowance.hold(bytes);
    },
  };
}

/** Reads the images of a stored response. */
export function imageReader(
  http: Parts,
  request: Request,
): (output: readonly ConversationItem[]) => Promise<readonly ConversationItem[]> {
  return (output) => withTaskImages(http, request.caller.accountId, output, allowanceOf(http, request));
}

/** How many images of the conversation before it a request gives to the model: the latest. */
export const MAX_EARLIER_IMAGES = 8;

/** Where the part of a conversation begins that has its latest images. */
function startOfLatest(items: readonly ConversationItem[], images: number): number {
  const indexes = items.flatMap((item, index) => (isImageCall(item) ? [index] : []));
  return indexes.at(-images) ?? 0;
}

/** What a request refers to, with the images that were generated, if the model takes images. */
export async function withEarlierImages(
  http: Parts,
  request: Request,
  { features }: Pick<TextModelDefinition, 'features'>,
  earlier: EarlierItems,
): Promise<EarlierItems> {
  if (!features.includes('images')) return earlier;
  const { conversation } = earlier;
  const from = startOfLatest(conversation, MAX_EARLIER_IMAGES);
  const read = imageReader(http, request);
  const referenced = await read([...earlier.referenced.values()]);
  return {
    conversation: [...conversation.slice(0, from), ...(await read(conversation.slice(from)))],
    referenced: new Map(referenced.map((item) => [item.id, item])),
  };
}

/** The tool of a response. */
export interface ResponseImages {
  /** Undefined: the model may not call it. */
  readonly imageTool: PreparedImageTool | undefined;
  /** Records whether the images arrive with the answer: an automatic retry of a client that did not get them does. */
  readonly track: <Answer>(answering: Promise<Answer>) => Promise<Answer>;
}

/**
 * The tool of a request, if its model may call it. The ids of its tasks are in a header of a response that is not
 * streamed.
 *
 * @throws as `prepareImageTool`.
 */
export function imageToolOf(
  http: HttpContext,
  request: { readonly caller: Caller; readonly ctx: ParameterizedContext<RequestState> },
  call: {
    readonly id: string;
    readonly model: TextModelDefinition;
    readonly body: ResponsesBody;
    readonly decoded: Pick<DecodedResponsesRequest, 'imageTool'>;
  },
): ResponseImages {
  const { ctx, caller } = request;
  const { body, decoded } = call;
  const { imageTool: requested } = decoded;
  if (requested === undefined) return { imageTool: undefined, track: (answering) => answering };
  const attempt = { waiter: newId('req'), isRetry: isRetry(ctx), sent: body };
  const imageTool = prepareImageTool(http, {
    caller,
    responseId: call.id,
    textModel: call.model,
    requested,
    allowance: allowanceOf(http, request),
    attempt,
    onTask(taskIds) {
      const [first] = taskIds;
      if (first !== undefined) ctx.state.createdTaskId = first;
      if (!ctx.headerSent) ctx.set(taskIdHeader(http), taskIds.join(', '));
    },
  });
  // Once the head of a stream was sent, no client repeats the request.
  let isAnswered = body.stream === true;
  whenClosed(ctx, (isFinished) => {
    void recordEnd(http, imageTool.taskIds, isFinished && isAnswered ? undefined : attempt.waiter);
  });
  return {
    imageTool,
    async track(answering) {
      const answer = await answering;
      isAnswered = true;
      return answer;
    },
  };
}

/** Never fails: what is not recorded lets a retry get the images again. @param waiter which did not get them. */
async function recordEnd(
  { database, logger }: Pick<HttpContext, 'database' | 'logger'>,
  taskIds: readonly TaskId[],
  waiter: string | undefined,
): Promise<void> {
  for (const taskId of taskIds) {
    const recorded = waiter === undefined ? markReceived(database, taskId) : releaseResponse(database, taskId, waiter);
    await recorded.catch((error: unknown) => {
      logger.warn({ err: error, taskId }, 'recording the end of a response failed');
    });
  }
}
