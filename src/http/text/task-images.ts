/**
 * The images of tasks as the results of the built-in tool `image_generation`. They are not stored with a response: they
 * are read from the outputs of its tasks whenever the response is, or one that continues it.
 */
import { buffer } from 'node:stream/consumers';
import type { Caller } from '../../accounts/authenticate.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { isRecord } from '../../domain/json.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import { OutputNotFoundError, readServableOutput } from '../../objects/outputs/outputs.ts';
import { ObjectNotFoundError } from '../../objects/stores/object-store.ts';
import { TaskNotFoundError, isOutputGone, readTask } from '../../tasks/record/read.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import { dataOf, frameOf } from '../../text/encoder.ts';
import { asBase64 } from '../../text/images.ts';
import type { EarlierItems } from '../../text/responses/decode-input.ts';
import { IMAGE_CALL, isImageCall } from '../../text/responses/image-calls.ts';
import type { ConversationItem } from '../../text/responses/items.ts';
import type { BodyAllowance } from '../bodies/body-allowance.ts';
import type { HttpContext } from '../app/context.ts';
import type { TextCallRequest } from './decode-call.ts';

/** A larger image is not part of a response; the task has it. */
const MAX_RESULT_BYTES = 16_000_000;
/** How many images of the conversation before it a request gives to the model: the latest. */
export const MAX_EARLIER_IMAGES = 8;

/** The memory for the images of one response. */
export type ImageAllowance = Pick<BodyAllowance, 'hold' | 'canHold'>;

type Request = Pick<TextCallRequest, 'caller' | 'until'>;
type Parts = Pick<HttpContext, 'bodies' | 'database' | 'store' | 'now'>;

/**
 * The memory of the images of one response, until it is over. What is read after that is dropped at once, and not
 * counted: nothing would release it.
 */
export function imageAllowance(http: Pick<HttpContext, 'bodies'>, { caller, until }: Request): ImageAllowance {
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

/** The image of a task; undefined: it has none, or none that can be read any more. */
export function imageOutputOf(http: Pick<HttpContext, 'now'>, task: TaskDetail): TaskOutput | undefined {
  return task.outputs.find((output) => output.type === 'image' && !isOutputGone(output, http.now()));
}

/**
 * An image in base64; null: it is gone, or too large, by itself or with those before it.
 *
 * @param allowance for the memory that it takes. @throws {ShareExhaustedError}
 */
export async function readImage(http: Parts, output: TaskOutput, allowance: ImageAllowance): Promise<string | null> {
  const bytes = asBase64(output.sizeBytes);
  if (output.sizeBytes > MAX_RESULT_BYTES || !allowance.canHold(bytes)) return null;
  allowance.hold(bytes);
  try {
    const { objectKey } = await readServableOutput(http.database, output.id);
    return (await buffer(await http.store.read(objectKey))).toString('base64');
  } catch (error) {
    // It was deleted since the task was read.
    if (error instanceof OutputNotFoundError || error instanceof ObjectNotFoundError) return null;
    throw error;
  }
}

/**
 * Items with the images of their tasks in `result`.
 *
 * @param accountId the account of the response: the images of another one's tasks are not read.
 * @throws {ShareExhaustedError}
 */
async function withTaskImages<Item extends { readonly type: string }>(
  http: Parts,
  accountId: string,
  items: readonly Item[],
  allowance: ImageAllowance,
): Promise<readonly Item[]> {
  const filled: Item[] = [];
  // The latest first: if not all of them fit, it is the earlier ones that are left out.
  for (const item of items.toReversed()) {
    const taskId = isImageCall(item) && item.status === 'completed' ? item.task_id : undefined;
    // One after the other: of each only the text is left in memory.
    filled.push(taskId === undefined ? item : { ...item, result: await resultOf(http, accountId, taskId, allowance) });
  }
  return filled.toReversed();
}

async function resultOf(
  http: Parts,
  accountId: string,
  taskId: string,
  allowance: ImageAllowance,
): Promise<string | null> {
  if (!isTaskId(taskId)) return null;
  const task = await readTask(http.database, taskId, accountId).catch((error: unknown) => {
    if (error instanceof TaskNotFoundError) return undefined;
    throw error;
  });
  const output = task === undefined ? undefined : imageOutputOf(http, task);
  return output === undefined ? null : readImage(http, output, allowance);
}

/** Reads the images of a stored response. */
export function imageReader(
  http: Parts,
  request: Request,
): (output: readonly ConversationItem[]) => Promise<readonly ConversationItem[]> {
  return (output) => withTaskImages(http, request.caller.accountId, output, imageAllowance(http, request));
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
