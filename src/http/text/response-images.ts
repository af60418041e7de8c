/** The images that the built-in tool `image_generation` generates, where a response is created and where it is read. */
import type { ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/authenticate.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { newId } from '../../domain/ids.ts';
import { isRecord } from '../../domain/json-members.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import { markReceived, releaseResponse } from '../../tasks/create/awaited-responses.ts';
import { dataOf, frameOf } from '../../text/encoder.ts';
import type { EarlierItems } from '../../text/responses/decode-input.ts';
import type { DecodedResponsesRequest, ResponsesBody } from '../../text/responses/decode-request.ts';
import { IMAGE_CALL, isImageCall } from '../../text/responses/image-calls.ts';
import type { ConversationItem } from '../../text/responses/items.ts';
import type { ImageTool } from '../../text/tools/image-tool.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { taskIdHeader } from '../media-calls/headers.ts';
import { isAutomaticRetry, whenClosed } from '../middleware/repeated-requests.ts';
import type { TextCallRequest, WaitingClient } from './detached-call.ts';
import { prepareImageTool } from './image-tool.ts';
import { withTaskImages } from './task-images.ts';
import type { ImageAllowance } from './task-images.ts';

type Request = Pick<TextCallRequest, 'caller' | 'until'>;
type Parts = Pick<HttpContext, 'bodies' | 'database' | 'store' | 'now'>;

/**
 * The memory of the images of one response, until it is over. What is read after that is dropped at once, and not
 * counted: nothing would release it.
 */
function allowanceOf(http: Pick<HttpContext, 'bodies'>, { caller, until }: Request): ImageAllowance {
  const allowance = http.bodies.ofAccount(caller);
  const over = until();
  over.addEventListener('abort', () => allowance.release());
  return {
    hold(bytes) {
      if (!over.aborted) allowance.hold(bytes);
    },
    canHold: (bytes) => allowance.canHold(bytes),
  };
}

/** Reads the images of a stored response. */
export function imageReader(
  http: Parts,
  request: Request,
): (output: readonly ConversationItem[]) => Promise<readonly ConversationItem[]> {
  return (output) => withTaskImages(http, request.caller.accountId, output, allowanceOf(http, request));
}

/** The recorded stream of a response with its images, which the record does not have. */
export async function* withRecordedImages(
  http: Parts,
  caller: Caller,
  frames: AsyncIterable<string>,
): AsyncGenerator<string> {
  for await (const frame of frames) {
    if (!frame.includes(IMAGE_CALL)) {
      yield frame;
      continue;
    }
    // Its reader takes the next frame when this one was sent.
    const allowance = http.bodies.ofAccount(caller);
    try {
      yield await withFrameImages(http, caller, frame, allowance);
    } finally {
      allowance.release();
    }
  }
}

async function withFrameImages(
  http: Parts,
  { accountId }: Caller,
  frame: string,
  allowance: ImageAllowance,
): Promise<string> {
  const { type, ...event } = dataOf(frame) ?? {};
  const { item, response } = event;
  const fill = (items: readonly unknown[]) => withTaskImages(http, accountId, items.filter(isItem), allowance);
  try {
    if (type === 'response.output_item.done') {
      const [filled] = await fill([item]);
      return frameOf({ type, ...event, item: filled }, type);
    }
    if (typeof type !== 'string' || !isRecord(response) || !Array.isArray(response['output'])) return frame;
    return frameOf({ type, ...event, response: { ...response, output: await fill(response['output']) } }, type);
  } catch (error) {
    // The stream goes on, and the image can be read later.
    if (error instanceof ShareExhaustedError) return frame;
    throw error;
  }
}

function isItem(value: unknown): value is { readonly type: string } {
  return isRecord(value) && typeof value['type'] === 'string';
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

/**
 * The tool of a request, if its model may call it.
 *
 * @throws as `prepareImageTool`.
 */
export function imageToolOf(
  http: HttpContext,
  request: TextCallRequest,
  call: {
    readonly model: TextModelDefinition;
    readonly body: ResponsesBody;
    readonly decoded: Pick<DecodedResponsesRequest, 'imageTool'>;
  },
): ImageTool | undefined {
  const { imageTool: requested } = call.decoded;
  if (requested === undefined) return undefined;
  const { client } = request;
  return prepareImageTool(http, {
    caller: request.caller,
    responseId: request.id,
    textModel: call.model,
    requested,
    allowance: allowanceOf(http, request),
    attempt: { waiter: client?.waiter, isRetry: client?.isRetry === true, sent: call.body },
    onTask: client?.onTask,
  });
}

/** The images of a response whose client waits. */
export interface ResponseImages {
  readonly client: WaitingClient;
  /** Records whether the images arrive with the answer: an automatic retry of a client that did not get them does. */
  track<Answer>(answering: Promise<Answer>): Promise<Answer>;
}

/** @param isStreamed once the head of a stream was sent, no client repeats the request. */
export function imageTasksOf(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  isStreamed: boolean,
): ResponseImages {
  const waiter = newId('req');
  let tasks: readonly TaskId[] | undefined;
  let isAnswered = isStreamed;
  return {
    client: {
      waiter,
      isRetry: isAutomaticRetry(ctx),
      onTask(taskIds) {
        if (tasks === undefined) {
          whenClosed(ctx.res, (isFinished) => {
            void recordEnd(http, tasks ?? [], isFinished && isAnswered ? undefined : waiter);
          });
        }
        tasks = taskIds;
        const [first] = taskIds;
        if (first !== undefined) ctx.state.createdTaskId = first;
        if (!ctx.headerSent) ctx.set(taskIdHeader(http), taskIds.join(', '));
      },
    },
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
