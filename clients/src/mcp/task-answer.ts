/**
 * A task as the tools answer it: its JSON, the address of each original, and pictures, so that the model sees what was
 * made. Whatever is asked for, an answer stays below what clients take (tool-result.ts).
 */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import { ApiError, UnreachableError } from '../api/api-client.ts';
import type { ApiClient } from '../api/api-client.ts';
import type { MediaChoice } from './fields.ts';
import type { Task, TaskOutput } from './task.ts';
import { MAX_RESULT_BYTES, resultBytes } from './tool-result.ts';

/** Of all pictures of an answer as they are sent, in Base64: what is left of a client's 1 MiB is for texts and links. */
const MAX_INLINE_BYTES = 700_000;
/** A preview tells a model what is to be seen, at a price in tokens that it can pay for each of several. */
const PREVIEW_EDGE = 768;
const MAX_PREVIEW_BYTES = 150_000;
/** Below this a picture tells nothing any more: its link is enough. */
const MIN_PREVIEW_BYTES = 10_000;
/** Each is a request, and tokens: of more there are the links. */
const MAX_PICTURES = 8;
/** The members of a picture's block beside its data. */
const BLOCK_BYTES = 200;

/** What language models see. */
const SEEN_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
/** Beside a film: its `thumbnail` is its preview, and these are there for the next film. */
const FRAMES: ReadonlySet<string> = new Set(['first_frame', 'last_frame']);

export interface TaskAnswerOptions {
  readonly api: ApiClient;
  readonly signal: AbortSignal;
  readonly media: MediaChoice;
  /** Whether the client knows `resource_link` (protocol 2025-06-18); the others are given addresses as text. */
  readonly takesLinks: boolean;
  /** Stands before the JSON: what the model should do next. */
  readonly remark?: string | undefined;
}

type ImageBlock = Extract<ContentBlock, { type: 'image' }>;

export async function taskAnswer(task: Task, options: TaskAnswerOptions): Promise<CallToolResult> {
  const { media, remark } = options;
  const outputs = task.output ?? [];
  const json = JSON.stringify(task, null, 1);
  const head: ContentBlock = { type: 'text', text: remark === undefined ? json : `${remark}\n\n${json}` };
  const links = outputs.map((output) => linkTo(output, options.takesLinks));
  const shown = media === 'none' ? [] : outputs.filter(isShown).slice(0, MAX_PICTURES);
  let room = Math.min(MAX_INLINE_BYTES, MAX_RESULT_BYTES - resultBytes({ content: [head, ...links] }));
  const pictures = new Map<TaskOutput, ImageBlock>();
  for (const [place, output] of shown.entries()) {
    // Evenly, so that the first of many does not leave the others without.
    const share = { full: room, preview: room / (shown.length - place) };
    const picture = await pictureOf(task, output, share, options);
    if (picture === undefined) continue;
    pictures.set(output, picture);
    room -= picture.data.length + BLOCK_BYTES;
  }
  return { content: [head, ...outputs.flatMap((output, place) => withPicture(links[place], pictures.get(output)))] };
}

function withPicture(link: ContentBlock | undefined, picture: ImageBlock | undefined): readonly ContentBlock[] {
  return [link, picture].filter((block) => block !== undefined);
}

function isShown({ type, mimeType }: TaskOutput): boolean {
  return mimeType.startsWith('image/') && !FRAMES.has(type);
}

/** @param share bytes in Base64. @returns undefined where there is no picture to be had: the link is there all the same. */
async function pictureOf(
  { taskId }: Task,
  output: TaskOutput,
  share: Readonly<Record<Exclude<MediaChoice, 'none'>, number>>,
  { api, signal, media }: TaskAnswerOptions,
): Promise<ImageBlock | undefined> {
  const previewBytes = Math.min(MAX_PREVIEW_BYTES, bytesWithin(share.preview));
  const mostBytes = media === 'full' ? bytesWithin(share.full) : previewBytes;
  const isSmall = Math.max(output.width ?? Infinity, output.height ?? Infinity) <= PREVIEW_EDGE;
  if (SEEN_TYPES.has(output.mimeType) && output.sizeBytes <= mostBytes && (media === 'full' || isSmall)) {
    const bytes = await download(() => api.fetch(output.url, { signal }), mostBytes, signal);
    if (bytes !== undefined) return imageOf(bytes, output.mimeType);
  }
  if (previewBytes < MIN_PREVIEW_BYTES) return undefined;
  const path = `/tasks/${encodeURIComponent(taskId)}/outputs/${encodeURIComponent(output.id)}/preview`;
  const query = { maxEdge: PREVIEW_EDGE, maxBytes: previewBytes };
  const bytes = await download(() => api.get(path, { query, signal }), previewBytes, signal);
  return bytes && imageOf(bytes, 'image/jpeg');
}

function imageOf(bytes: Buffer, mimeType: string): ImageBlock {
  return { type: 'image', data: bytes.toString('base64'), mimeType };
}

/** How many bytes have at most this length in Base64. */
function bytesWithin(base64Bytes: number): number {
  return Math.max(0, Math.floor((base64Bytes - BLOCK_BYTES) / 4) * 3);
}

function linkTo({ url, type, mimeType, sizeBytes }: TaskOutput, takesLinks: boolean): ContentBlock {
  if (!takesLinks) return { type: 'text', text: `The original ${type} (${mimeType}, ${sizeBytes} bytes): ${url}` };
  const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? type);
  return { type: 'resource_link', uri: url, name, mimeType, size: sizeBytes, description: `The original ${type}.` };
}

/** @returns undefined where the bytes are not to be had from here, or are more than was said. */
async function download(
  ask: () => Promise<Response>,
  mostBytes: number,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  try {
    const bytes = Buffer.from(await (await ask()).arrayBuffer());
    return bytes.length <= mostBytes ? bytes : undefined;
  } catch (error) {
    signal.throwIfAborted();
    // `fetch` tells of a body that breaks off by a TypeError.
    if (error instanceof ApiError || error instanceof UnreachableError || error instanceof TypeError) return undefined;
    throw error;
  }
}
