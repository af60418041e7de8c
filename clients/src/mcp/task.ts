/**
 * A task as the API tells it, as far as the tools read it, and as they answer it: its JSON, a link for each output, and
 * pictures that are small enough as pictures, so that the model sees what was made.
 */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import type { ApiClient } from '../api/api-client.ts';

interface TaskOutput {
  readonly url: string;
  readonly type: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
}

export interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly progress?: number;
  readonly output?: readonly TaskOutput[];
  readonly error?: { readonly code: string; readonly message: string };
}

export interface TaskList {
  readonly tasks: readonly Task[];
  readonly total: number;
  readonly totalIsCapped?: boolean;
  readonly nextCursor?: string;
}

/** What language models see. */
const SEEN_TYPES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
/** One picture, and all pictures of an answer: what is larger is there by its link. */
const MAX_PICTURE_BYTES = 2_000_000;
const MAX_PICTURES_BYTES = 4_000_000;

export function isOver({ status }: Task): boolean {
  return status === 'success' || status === 'fail';
}

/** `handling 40%`. */
export function statusOf({ status, progress }: Task): string {
  return progress === undefined ? status : `${status} ${Math.floor(progress * 100)}%`;
}

/** @param remark stands before the JSON: what the model should do next. */
export async function taskAnswer(
  api: ApiClient,
  task: Task,
  signal: AbortSignal,
  remark?: string,
): Promise<CallToolResult> {
  const text = JSON.stringify(task, null, 1);
  const content: ContentBlock[] = [{ type: 'text', text: remark === undefined ? text : `${remark}\n\n${text}` }];
  let room = MAX_PICTURES_BYTES;
  for (const output of task.output ?? []) {
    content.push(linkTo(output));
    if (!SEEN_TYPES.has(output.mimeType) || output.sizeBytes > Math.min(room, MAX_PICTURE_BYTES)) continue;
    const bytes = await download(api, output.url, signal);
    if (bytes === undefined) continue;
    room -= bytes.length;
    content.push({ type: 'image', data: bytes.toString('base64'), mimeType: output.mimeType });
  }
  return { content };
}

function linkTo({ url, type, mimeType, sizeBytes }: TaskOutput): ContentBlock {
  const name = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? type);
  return { type: 'resource_link', uri: url, name, mimeType, size: sizeBytes, description: `The task's ${type}.` };
}

/** @returns undefined where the bytes are not to be had from here: the link is there all the same. */
async function download(api: ApiClient, url: string, signal: AbortSignal): Promise<Buffer | undefined> {
  try {
    const response = await api.fetch(url, { signal });
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error) return undefined;
    throw error;
  }
}
