/**
 * A task as the tools return it: its JSON, the URL of each original, and images and text, so that the model sees
 * the outputs. Whatever is requested, an answer stays below what clients accept (tool-result.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import { ApiError, UnreachableError, isRetryRequested } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import type { MediaChoice } from './fields.ts';
import { MAX_RESULT_BYTES, resultBytes } from './tool-result.ts';
import type { WireOutput, WireTask } from '@darkroom/api/tasks/task';

/**
 * The maximum total size of the images of one tool result, in Base64. The rest of a client's 1 MiB is for text and
 * links.
 */
const MAX_INLINE_BYTES = 700_000;
/**
 * The longer edge of a preview in pixels: large enough to show a model the content, small enough to use several in one
 * result.
 */
const PREVIEW_EDGE = 768;
const MAX_PREVIEW_BYTES = 150_000;
/** The minimum size of a preview in bytes. A smaller image shows too little to be useful; its link is enough. */
const MIN_PREVIEW_BYTES = 10_000;
/**
 * The maximum number of images in one result, because each costs a request and tokens. Further images are only links.
 */
const MAX_IMAGES = 8;
/** The members of an image block apart from its data. */
const BLOCK_BYTES = 200;
/** The space that the smallest preview takes in Base64. */
const MIN_PREVIEW_ROOM = Math.ceil(MIN_PREVIEW_BYTES / 3) * 4 + BLOCK_BYTES;

/** How many seconds to wait before the next attempt at an image, if the service does not state a time. */
const RETRY_SECONDS = 2;

/** The types of images that language models can read. */
const SEEN_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
/** The files of a transcript, the most readable first: one of them is returned, because all have the same words. */
const READ_TYPES = ['text/plain', 'application/json', 'application/x-subrip', 'text/vtt'];
/** The maximum size of a text that is returned: two hours of speech. It takes up to six times as much as JSON. */
const MAX_TEXT_BYTES = 100_000;
/** Frames that accompany a video: its `thumbnail` is its preview, and these are there for the next video. */
const FRAMES: ReadonlySet<string> = new Set(['first_frame', 'last_frame']);

export interface TaskAnswerOptions {
  readonly api: ApiClient;
  readonly signal: AbortSignal;
  /**
   * Fires when the answer has to be sent: for images that have not arrived by then there are the links, and the answer
   * states that.
   */
  readonly late: AbortSignal;
  /** Whether an image may be requested again: not while the process is stopping. */
  readonly mayWait: () => boolean;
  readonly media: MediaChoice;
  /** Whether the client supports `resource_link` (protocol 2025-06-18); the others get URLs as text. */
  readonly takesLinks: boolean;
  /** Added before the JSON: what the model should do next. */
  readonly remark?: string | undefined;
}

type ImageBlock = Extract<ContentBlock, { type: 'image' }>;

/** Stands for an image for which there was no time; it can be fetched later. */
const LATE = Symbol('late');

/** Undefined: there is no image. */
type Fetched<Value> = Value | typeof LATE | undefined;

export async function taskAnswer(task: WireTask, options: TaskAnswerOptions): Promise<CallToolResult> {
  const { media, remark } = options;
  const outputs = task.output ?? [];
  const json = JSON.stringify(task, null, 1);
  const head: ContentBlock = { type: 'text', text: remark === undefined ? json : `${remark}\n\n${json}` };
  const links = outputs.map((output) => linkTo(output, options.takesLinks));
  const shown = media === 'none' ? [] : outputs.filter(isShown).slice(0, MAX_IMAGES);
  const room = Math.min(MAX_INLINE_BYTES, MAX_RESULT_BYTES - resultBytes({ content: [head, ...links] }));
  const { images, late } = await fetchImages(task, shown, room, options);
  const blocks = outputs.flatMap((output, index) => withImage(links[index], images.get(output)));
  const words = await fetchText(outputs, options);
  return { content: [head, ...words, ...(late === 0 ? [] : [missing(late, task)]), ...blocks] };
}

/** @returns nothing if the task has no text, or one that is too long or cannot be fetched: the link is enough then. */
async function fetchText(outputs: readonly WireOutput[], options: TaskAnswerOptions): Promise<readonly ContentBlock[]> {
  const readable = READ_TYPES.flatMap((type) => outputs.find(({ mimeType }) => mimeType === type) ?? []);
  const [output] = readable.filter(({ sizeBytes }) => sizeBytes <= MAX_TEXT_BYTES);
  if (output === undefined) return [];
  const { url, sizeBytes } = output;
  const bytes = await download((signal) => options.api.fetch(url, { signal }), sizeBytes, options);
  return Buffer.isBuffer(bytes) ? [{ type: 'text', text: bytes.toString('utf8') }] : [];
}

function missing(count: number, { taskId }: WireTask): ContentBlock {
  const what = count === 1 ? '1 image is missing' : `${count} images are missing`;
  const text = `${what} here, for which there was not enough time. Call get_task with task_id "${taskId}" to see all.`;
  return { type: 'text', text };
}

function withImage(link: ContentBlock | undefined, image: ImageBlock | undefined): readonly ContentBlock[] {
  return [link, image].filter((block) => block !== undefined);
}

function isShown({ type, mimeType }: WireOutput): boolean {
  return mimeType.startsWith('image/') && !FRAMES.has(type);
}

interface Images {
  readonly images: ReadonlyMap<WireOutput, ImageBlock>;
  /** How many were left out because there was not enough time. */
  readonly late: number;
}

/**
 * Fetches images in parallel: one after the other they would take longer than clients wait. Originals come first,
 * because their sizes are known; an original that cannot be fetched is replaced by a preview, if there is room for it.
 *
 * @param room for all of them, in bytes of Base64.
 * @returns those that could be fetched: the answer has the links of the others all the same.
 */
async function fetchImages(
  task: WireTask,
  shown: readonly WireOutput[],
  room: number,
  options: TaskAnswerOptions,
): Promise<Images> {
  const { images: originals } = await fetchEach(fittingOriginals(shown, room, options.media), (output) =>
    fetchOriginal(output, options),
  );
  const left = [...originals.values()].reduce((rest, { data }) => rest - data.length - BLOCK_BYTES, room);
  const others = shown.filter((output) => !originals.has(output)).slice(0, Math.floor(left / MIN_PREVIEW_ROOM));
  const maxBytes = Math.min(MAX_PREVIEW_BYTES, bytesWithin(left / others.length));
  const previews = await fetchEach(others, (output) => fetchPreview(task, output, maxBytes, options));
  return { images: new Map([...originals, ...previews.images]), late: previews.late };
}

async function fetchEach(
  outputs: readonly WireOutput[],
  fetchOne: (output: WireOutput) => Promise<Fetched<ImageBlock>>,
): Promise<Images> {
  const images = new Map<WireOutput, ImageBlock>();
  let late = 0;
  await Promise.all(
    outputs.map(async (output) => {
      const image = await fetchOne(output);
      if (image === LATE) late += 1;
      else if (image !== undefined) images.set(output, image);
    }),
  );
  return { images, late };
}

/**
 * Which originals are sent as they are: all that fit if originals are requested, otherwise those no larger than a
 * preview.
 */
function fittingOriginals(shown: readonly WireOutput[], room: number, media: MediaChoice): readonly WireOutput[] {
  let left = room;
  return shown.filter((output) => {
    // Divided evenly, so that the first of many does not take the room of the others.
    const previewBytes = Math.min(MAX_PREVIEW_BYTES, bytesWithin(room / shown.length));
    const isSmall = Math.max(output.width ?? Infinity, output.height ?? Infinity) <= PREVIEW_EDGE;
    const mostBytes = media === 'full' ? bytesWithin(left) : previewBytes;
    if (!SEEN_TYPES.has(output.mimeType) || output.sizeBytes > mostBytes || (media !== 'full' && !isSmall))
      return false;
    left -= Math.ceil(output.sizeBytes / 3) * 4 + BLOCK_BYTES;
    return true;
  });
}

async function fetchOriginal(
  { url, sizeBytes, mimeType }: WireOutput,
  options: TaskAnswerOptions,
): Promise<Fetched<ImageBlock>> {
  const bytes = await download((signal) => options.api.fetch(url, { signal }), sizeBytes, options);
  return Buffer.isBuffer(bytes) ? imageOf(bytes, mimeType) : bytes;
}

async function fetchPreview(
  { taskId }: WireTask,
  { id }: WireOutput,
  maxBytes: number,
  options: TaskAnswerOptions,
): Promise<Fetched<ImageBlock>> {
  const path = `/tasks/${encodeURIComponent(taskId)}/outputs/${encodeURIComponent(id)}/preview`;
  const query = { maxEdge: PREVIEW_EDGE, maxBytes };
  const bytes = await download((signal) => options.api.get(path, { query, signal }), maxBytes, options);
  return Buffer.isBuffer(bytes) ? imageOf(bytes, 'image/jpeg') : bytes;
}

function imageOf(bytes: Buffer, mimeType: string): ImageBlock {
  return { type: 'image', data: bytes.toString('base64'), mimeType };
}

/** The maximum number of bytes that have at most this length in Base64. */
function bytesWithin(base64Bytes: number): number {
  return Math.max(0, Math.floor((base64Bytes - BLOCK_BYTES) / 4) * 3);
}

function linkTo({ url, type, mimeType, sizeBytes }: WireOutput, takesLinks: boolean): ContentBlock {
  if (!takesLinks) return { type: 'text', text: `The original ${type} (${mimeType}, ${sizeBytes} bytes): ${url}` };
  const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? type);
  return { type: 'resource_link', uri: url, name, mimeType, size: sizeBytes, description: `The original ${type}.` };
}

/** @returns undefined if the bytes cannot be fetched from here, or are more than stated. */
async function download(
  request: (signal: AbortSignal) => Promise<Response>,
  mostBytes: number,
  { signal, late, mayWait }: Pick<TaskAnswerOptions, 'signal' | 'late' | 'mayWait'>,
): Promise<Fetched<Buffer>> {
  const ended = AbortSignal.any([signal, late]);
  const attempt = async (): Promise<Buffer> => {
    const response = await request(ended);
    return Buffer.from(await response.arrayBuffer());
  };
  try {
    const bytes = await withRetries(attempt, { signal: ended, mayWait });
    return bytes.length <= mostBytes ? bytes : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted || isRetryRequested(error)) return LATE;
    // `fetch` throws a TypeError for a body that breaks off.
    if (error instanceof ApiError || error instanceof UnreachableError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * Retries when the service requests it: several concurrent calls request more images than are made at a time. After any
 * other failure the link of the image is enough, and the answer does not wait for it.
 */
async function withRetries<T>(
  attempt: () => Promise<T>,
  { signal, mayWait }: { readonly signal: AbortSignal; readonly mayWait: () => boolean },
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetryRequested(error) || !mayWait()) throw error;
      await sleep(Math.max(1, error.retryAfterSeconds ?? RETRY_SECONDS) * 1000, undefined, { signal });
    }
  }
}
