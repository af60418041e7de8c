/**
 * The items of a conversation as `POST /responses` writes them: the parts of an input, once it is validated and
 * complete, and the parts of an answer. They are stored unchanged, and an answer's items may be the next input's.
 * Their forms are OpenAI's, with the fields that Open Responses requires (contract §9).
 */
import { decodeBase64 } from '../../domain/data-url.ts';
import type { TokenLogprob } from '../source.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface OutputTextPart {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly unknown[];
  readonly logprobs: readonly WireLogprob[];
}

export interface RefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

export type InputPart =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string; readonly detail: 'auto' | 'low' | 'high' };

export interface InputMessageItem {
  readonly type: 'message';
  readonly role: 'user' | 'system' | 'developer';
  readonly status: ItemStatus;
  readonly content: readonly InputPart[];
}

export interface OutputMessageItem {
  readonly type: 'message';
  readonly role: 'assistant';
  readonly status: ItemStatus;
  readonly content: readonly (OutputTextPart | RefusalPart)[];
}

export interface FunctionCallItem {
  readonly type: 'function_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface FunctionCallOutputItem {
  readonly type: 'function_call_output';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly output: string | readonly InputPart[];
}

/** `content` is the reasoning, `summary` is what is shown instead if a summary was requested. */
export interface ReasoningItem {
  readonly type: 'reasoning';
  readonly status: ItemStatus;
  readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[];
  readonly content?: readonly { readonly type: 'reasoning_text'; readonly text: string }[];
  readonly encrypted_content?: string;
}

/** A call of the built-in tool `image_generation`. */
export interface ImageCallItem {
  readonly type: 'image_generation_call';
  readonly status: 'in_progress' | 'generating' | 'completed' | 'failed';
  /** The image in base64. Not stored: it is read from the task's output. Null: there is none, or it was deleted. */
  readonly result: string | null;
  /** The task that generates it; absent: there is none. */
  readonly task_id?: string;
  /** The prompt as the model wrote it. */
  readonly revised_prompt?: string;
  readonly size?: string;
  readonly quality?: string;
  readonly background?: string;
  readonly output_format?: string;
  /** Why it failed. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** The parts of an answer, without their ids. */
export type UnnamedOutputItem = OutputMessageItem | FunctionCallItem | ReasoningItem | ImageCallItem;
/** The parts of an input; the id is the client's own, if it has one. */
export type UnnamedInputItem = (InputMessageItem | FunctionCallOutputItem | UnnamedOutputItem) & {
  readonly id?: string;
};

/** What a model is given: it knows no built-in tools (image-calls.ts). */
export type ModelItem = Exclude<UnnamedInputItem, ImageCallItem>;

export type OutputItem = UnnamedOutputItem & { readonly id: string };
/** Any item that is stored. */
export type ConversationItem = UnnamedInputItem & { readonly id: string };

export interface WireLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
  readonly top_logprobs: readonly Omit<WireLogprob, 'top_logprobs'>[];
}

/** A token's bytes are those of its text if its source does not report them. */
export function wireLogprobs(logprobs: readonly TokenLogprob[]): readonly WireLogprob[] {
  const plain = ({ token, logprob, bytes }: Omit<TokenLogprob, 'alternatives'>): Omit<WireLogprob, 'top_logprobs'> => ({
    token,
    logprob,
    bytes: bytes ?? [...Buffer.from(token)],
  });
  return logprobs.map((entry) => ({ ...plain(entry), top_logprobs: entry.alternatives.map(plain) }));
}

const PREFIXES = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  image_generation_call: 'ig',
} as const;
const RESPONSE_PREFIX = 'resp_';

/**
 * The id of an item: derived from its response's, so that no two are the same and each states where it is.
 *
 * @param index counted from 0 in the output, or in the response's own input.
 */
export function itemId(
  responseId: string,
  { type }: { readonly type: keyof typeof PREFIXES },
  index: number,
  side: 'input' | 'output' = 'output',
): string {
  const tail = responseId.startsWith(RESPONSE_PREFIX) ? responseId.slice(RESPONSE_PREFIX.length) : responseId;
  return `${PREFIXES[type]}_${tail}_${side === 'input' ? 'i' : ''}${index}`;
}

/** The response of an item with one of our ids; undefined: the id is not one of ours. */
export function responseOfItem(id: string): string | undefined {
  const match = /^(?:msg|rs|fc|fco|ig)_(.+)_i?\d{1,6}$/.exec(id);
  return match?.[1] === undefined ? undefined : `${RESPONSE_PREFIX}${match[1]}`;
}

/** Gives ids to the items of an input that have none. */
export function nameInputItems(responseId: string, items: readonly UnnamedInputItem[]): readonly ConversationItem[] {
  return items.map((item, index) => ({ ...item, id: item.id ?? itemId(responseId, item, index, 'input') }));
}

/**
 * `reasoning.encrypted_content`: what restores the reasoning if nothing is stored. It hides nothing, because the
 * reasoning is next to it; clients treat it as opaque.
 */
const SEALED = 'dkr1.';

export function sealReasoning(text: string): string {
  return `${SEALED}${Buffer.from(text).toString('base64url')}`;
}

/** Whether it was sealed here, and not by an upstream. */
export function isSealedHere({ encrypted_content: sealed }: ReasoningItem): boolean {
  return sealed?.startsWith(SEALED) === true;
}

/** The reasoning of an item that is sent back; undefined: it contains nothing that can be read here. */
export function reasoningText(item: ReasoningItem): string | undefined {
  const { content = [], summary, encrypted_content: sealed = '' } = item;
  if (content.length > 0) return joined(content);
  if (isSealedHere(item)) return decodeBase64(sealed.slice(SEALED.length))?.toString();
  return summary.length > 0 ? joined(summary) : undefined;
}

/**
 * What only an upstream can read of reasoning that it has sealed itself, with what is sent along and is not in
 * `reasoningText`; '' if there is none.
 */
export function foreignReasoning(item: ReasoningItem): string {
  const { content = [], summary, encrypted_content: sealed } = item;
  if (sealed === undefined || isSealedHere(item)) return '';
  return content.length > 0 ? `${sealed}${joined(summary)}` : sealed;
}

function joined(parts: readonly { readonly text: string }[]): string {
  return parts.map(({ text }) => text).join('\n\n');
}
