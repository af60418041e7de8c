/**
 * The images of tasks as the results of the built-in tool `image_generation`. They are not stored with a response: they
 * are read from the outputs of its tasks whenever the response is.
 */
import { buffer } from 'node:stream/consumers';
import { TaskNotFoundError, readTask } from '../../tasks/record/read.ts';
import type { TaskDetail, TaskOutput } from '../../tasks/record/read.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import { ObjectNotFoundError } from '../../objects/stores/object-store.ts';
import { OutputNotFoundError, readServableOutput } from '../../objects/outputs/outputs.ts';
import { asBase64 } from '../../text/images.ts';
import { isImageCall } from '../../text/responses/image-calls.ts';
import type { BodyAllowance } from '../bodies/body-allowance.ts';
import type { HttpContext } from '../app/context.ts';

/** A larger image is not part of a response; the task has it. */
export const MAX_RESULT_BYTES = 16_000_000;

/** The memory for the images of one response. */
export type ImageAllowance = Pick<BodyAllowance, 'hold' | 'canHold'>;

type Parts = Pick<HttpContext, 'database' | 'store' | 'now'>;

/** The image of a task; undefined: it has none, or none that can be read any more. */
export function imageOutputOf(http: Pick<HttpContext, 'now'>, task: TaskDetail): TaskOutput | undefined {
  return task.outputs.find(
    ({ type, goneAt, retainUntil }) =>
      type === 'image' && goneAt === null && (retainUntil === null || retainUntil * 1000 > http.now()),
  );
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
export async function withTaskImages<Item extends { readonly type: string }>(
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
