/**
 * Calls of the built-in tool `image_generation` in a conversation (contract §9.9). A model knows the tool as a function:
 * what it is given of a call is a function call with its output, and the image where it takes images. Images are not
 * stored with a response, because they are outputs of tasks.
 */
import { readImageUrl } from '../parameters.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { ImageCallItem, InputMessageItem, ModelItem, UnnamedInputItem } from './items.ts';

type WireObject = Readonly<Record<string, unknown>>;

/** The type of their items. */
export const IMAGE_CALL = 'image_generation_call';

export function isImageCall(item: { readonly type: string }): item is ImageCallItem {
  return item.type === IMAGE_CALL;
}

/** How a model is given the calls of a conversation. */
export interface ImageCallForm {
  /** The name of the function that the tool is to the model. */
  readonly functionName: string;
  readonly takesImages: boolean;
}

/**
 * A conversation as a model is given it. An image comes before the next message of another role: nothing may come
 * between a function call and its output.
 */
export function withoutImageCalls(
  items: readonly UnnamedInputItem[],
  { functionName, takesImages }: ImageCallForm,
): readonly ModelItem[] {
  const known: ModelItem[] = [];
  const images: InputMessageItem[] = [];
  for (const [index, item] of items.entries()) {
    if (!isImageCall(item)) {
      if (item.type === 'message' && item.role !== 'assistant') known.push(...images.splice(0));
      known.push(item);
      continue;
    }
    known.push(...callOf(item, `call_image_${index}`, functionName));
    if (takesImages && item.result !== null) images.push(imageMessage(item.result));
  }
  return [...known, ...images];
}

/** @param callId short: OpenAI's chat completions accept 40 characters. */
function callOf(item: ImageCallItem, callId: string, name: string): readonly ModelItem[] {
  const text = JSON.stringify({ prompt: item.revised_prompt ?? '' });
  return [
    { type: 'function_call', status: 'completed', call_id: callId, name, arguments: text },
    { type: 'function_call_output', status: 'completed', call_id: callId, output: imageOutputText(item) },
  ];
}

/** The longest reason for a failure that a model is given, in characters. */
const MAX_REASON = 200;
const FAILED = 'No image was generated: ';

/** What a model reads as the output of the function. Short: the hold is for its length (tools/image-turns.ts). */
export function imageOutputText({ status, size, output_format: format, error }: Omit<ImageCallItem, 'type'>): string {
  if (status === 'failed') return `${FAILED}${(error?.message ?? 'it failed').slice(0, MAX_REASON)}`;
  const facts = [size, format].filter((fact) => fact !== undefined).join(', ');
  return `The image was generated${facts === '' ? '' : ` (${facts})`}, and the user sees it.`;
}

/** No output takes more bytes, in whatever form a template writes it. */
export const LONGEST_OUTPUT = `${FAILED}${'\u{ffff}'.repeat(MAX_REASON)}`;

/** In a message of the user: the chat completions of many servers take images nowhere else. */
function imageMessage(result: string): InputMessageItem {
  return {
    type: 'message',
    role: 'user',
    status: 'completed',
    content: [
      { type: 'input_text', text: 'This is the image that was generated.' },
      { type: 'input_image', image_url: dataUrlOf(result), detail: 'auto' },
    ],
  };
}

/** The first characters of a file in base64, by its type. */
const SIGNATURES = { '/9j/': 'jpeg', UklGR: 'webp', iVBORw: 'png' } as const;

function dataUrlOf(result: string): string {
  const known = Object.entries(SIGNATURES).find(([start]) => result.startsWith(start));
  return `data:image/${known?.[1] ?? 'png'};base64,${result}`;
}

/**
 * A call that a client sends back. Its task does not count: reading the output of a task needs other rights.
 *
 * @throws {InvalidTextRequest}
 */
export function decodeImageCall(item: WireObject, where: string): ImageCallItem {
  const { result, revised_prompt: prompt } = item;
  const isFailed = item['status'] === 'failed';
  const url = typeof result === 'string' ? readImageUrl(dataUrlOf(result)) : undefined;
  if (typeof result === 'string' && url === undefined) {
    throw new InvalidTextRequest(`${where}.result`, `${where}.result: want an image in base64, or null`);
  }
  return {
    type: 'image_generation_call',
    status: isFailed ? 'failed' : 'completed',
    result: url === undefined ? null : url.slice(url.indexOf(',') + 1),
    ...(typeof prompt === 'string' ? { revised_prompt: prompt } : {}),
  };
}

/** An item as it is stored. */
export function withoutTaskImage<Item extends object>(item: Item): Item {
  return 'task_id' in item && 'result' in item ? { ...item, result: null } : item;
}
