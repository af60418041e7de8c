/**
 * A conversation with a text model: the answer as it is generated, its reasoning, and the functions that it calls. The
 * format is that of OpenAI's chat completions (contract §9).
 */
import type { ChatCompletionChunk, ChatDelta } from '@darkroom/api/openai/chat-completion';
import { UnreachableError, api } from './api.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as far as it has been received. */
  readonly arguments: string;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** A message as sent to the API. */
export type WireMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly type: 'function';
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly max_completion_tokens?: number;
  readonly reasoning_effort?: string;
  readonly tools?: readonly { readonly type: 'function'; readonly function: ToolDefinition }[];
}

export interface Usage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** An answer, as far as it has been received. */
export interface ChatAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  /** `stop`, `length`, `tool_calls` and others; undefined until it ended. */
  readonly finishReason?: string;
  readonly usage?: Usage;
}

/**
 * The answer ended before it was complete: the model stopped with an error message, or the connection broke without
 * one.
 */
export class InterruptedAnswerError extends Error {
  override readonly name = 'InterruptedAnswerError';
}

export const NO_ANSWER: ChatAnswer = { text: '', reasoning: '', toolCalls: [] };

/**
 * Yields the answer repeatedly, each time longer.
 *
 * @throws {ApiError} it is rejected. @throws {UnreachableError} nothing was received. @throws {InterruptedAnswerError}
 */
export async function* streamChat(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ChatAnswer> {
  const body = { ...request, stream: true, stream_options: { include_usage: true } };
  let answer = NO_ANSWER;
  try {
    for await (const { data } of api.events('POST', '/v1/chat/completions', { body, signal })) {
      if (data === '[DONE]') return;
      const chunk = JSON.parse(data) as ChatCompletionChunk;
      if (chunk.error !== undefined) throw new InterruptedAnswerError(chunk.error.message ?? '');
      answer = extended(answer, chunk);
      yield answer;
    }
  } catch (error) {
    if (answer !== NO_ANSWER && error instanceof UnreachableError)
      throw new InterruptedAnswerError('', { cause: error });
    throw error;
  }
  throw new InterruptedAnswerError('');
}

function extended(answer: ChatAnswer, { choices, usage }: ChatCompletionChunk): ChatAnswer {
  const [choice] = choices ?? [];
  const { content, refusal, reasoning_content: reasoning, tool_calls: calls = [] } = choice?.delta ?? {};
  const finishReason = choice?.finish_reason ?? answer.finishReason;
  return {
    text: answer.text + (content ?? '') + (refusal ?? ''),
    reasoning: answer.reasoning + (reasoning ?? ''),
    toolCalls: calls.reduce(withCall, answer.toolCalls),
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(usage === undefined || usage === null
      ? answer.usage === undefined
        ? {}
        : { usage: answer.usage }
      : { usage: usageOf(usage) }),
  };
}

function withCall(
  calls: readonly ToolCall[],
  { index, id, function: called }: NonNullable<ChatDelta['tool_calls']>[number],
): readonly ToolCall[] {
  const before = calls[index] ?? { id: '', name: '', arguments: '' };
  const after = {
    id: before.id + (id ?? ''),
    name: before.name + (called?.name ?? ''),
    arguments: before.arguments + (called?.arguments ?? ''),
  };
  return [...calls.slice(0, index), after, ...calls.slice(index + 1)];
}

function usageOf(usage: NonNullable<ChatCompletionChunk['usage']>): Usage {
  return {
    inputTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    outputTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}
