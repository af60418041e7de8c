/**
 * One answer of a text model, read while it arrives (contract §9). A stream that ends without `[DONE]` was broken off.
 */
import { ApiError, UnreachableError } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import type { ChatCompletionChunk } from '@darkroom/api/openai/chat-completion';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** The body of `POST /chat/completions`, as far as it is used here. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly reasoning?: { readonly enabled: boolean };
  readonly max_completion_tokens?: number;
  readonly temperature?: number;
}

/** A part of an answer, in the order of generation. */
export type ChatPart =
  | { readonly kind: 'text' | 'reasoning' | 'refusal'; readonly text: string }
  | { readonly kind: 'finish'; readonly reason: string };

/** @throws {ApiError} rejected, before or during the stream. @throws {UnreachableError} broken off. */
export async function* streamAnswer(
  api: ApiClient,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatPart> {
  const body = { ...request, stream: true };
  for await (const { data } of api.events('POST', '/chat/completions', { body, signal })) {
    if (data === '[DONE]') return;
    const chunk = JSON.parse(data) as ChatCompletionChunk;
    if (chunk.error !== undefined) throw failureIn(chunk);
    yield* partsOf(chunk);
  }
  throw new UnreachableError(`${new URL(api.baseUrl).origin} broke off the answer before its end`);
}

function* partsOf({ choices = [] }: ChatCompletionChunk): Generator<ChatPart> {
  for (const { delta = {}, finish_reason: reason } of choices) {
    const { content, reasoning_content: reasoning, refusal } = delta;
    if (reasoning) yield { kind: 'reasoning', text: reasoning };
    if (content) yield { kind: 'text', text: content };
    if (refusal) yield { kind: 'refusal', text: refusal };
    if (reason) yield { kind: 'finish', reason };
  }
}

/** After the headers an error is an event of the same form as an error response. */
function failureIn({
  message = 'the answer failed',
  code = 500,
  error_code: errorCode = '',
}: ChatCompletionChunk): ApiError {
  const status = code >= 400 && code <= 599 ? code : 500;
  return new ApiError(new Response(null, { status }), message, errorCode);
}
