/**
 * An answer while it is generated: the one stream of events that both endpoints render, streamed or not. A source (the
 * offline text model, an upstream's decoder) yields them in order and fails by throwing `TextFailure`.
 *
 * For each choice: any order of reasoning, text, refusals and tool calls, then one `finish`. After the last choice's
 * `finish` one `usage`, if the source knows it. Arguments of several tool calls may arrive interleaved.
 */

import type { ImageCallItem } from './responses/items.ts';

/** A token of the text with the natural logarithm of its probability, and the alternatives that were requested. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[] | null;
  readonly alternatives: readonly Omit<TokenLogprob, 'alternatives'>[];
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** The steps of one image that the built-in tool generates; they are followed by its end or by that of the answer. */
export type ImageStep =
  | { readonly type: 'begun' }
  | { readonly type: 'generating'; readonly taskId: string }
  | { readonly type: 'done'; readonly item: ImageCallItem };

export type TextEvent =
  | {
      readonly type: 'text';
      readonly choice: number;
      readonly text: string;
      readonly logprobs?: readonly TokenLogprob[];
    }
  | { readonly type: 'refusal'; readonly choice: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly choice: number; readonly text: string }
  /** A call begins. `index` counts the calls of its choice from 0. */
  | {
      readonly type: 'tool_call';
      readonly choice: number;
      readonly index: number;
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'tool_arguments'; readonly choice: number; readonly index: number; readonly text: string }
  /** The built-in tool generates an image. Only in responses, between two turns of the model (tools/image-turns.ts). */
  | { readonly type: 'image'; readonly choice: number; readonly step: ImageStep }
  | { readonly type: 'finish'; readonly choice: number; readonly reason: FinishReason }
  | { readonly type: 'usage'; readonly usage: TokenUsage };

/** Tokens of one call, over all its choices. */
export interface TokenUsage {
  readonly inputTokens: number;
  /** Of those, the ones that were read from the upstream's cache. */
  readonly cachedInputTokens: number;
  /** Reasoning included. */
  readonly outputTokens: number;
  /** Of those, the reasoning tokens. */
  readonly reasoningTokens: number;
}
