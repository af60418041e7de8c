/**
 * The response object (contract §9): every field that OpenAI's document requires or its API shows, and those that Open
 * Responses requires in addition. What the request specified is echoed; what it left open is shown as the API's
 * default.
 */
import type { WireImageTool } from '@darkroom/api/openai/image-generation-tool';
import type { WireFunction } from '@darkroom/api/openai/responses-request';
import type { TextProblem } from '../encoder.ts';
import type { BilledUsage } from '../tally.ts';

/** A tool as it is echoed: every field of a function has a value, and the built-in tool has those that were given. */
export type EchoedTool = Required<WireFunction> | WireImageTool;

/** What a response object repeats of its request. */
export interface ResponseEcho {
  readonly background: boolean;
  readonly instructions: string | null;
  readonly max_output_tokens: number | null;
  readonly max_tool_calls: number | null;
  readonly parallel_tool_calls: boolean;
  readonly previous_response_id: string | null;
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null };
  readonly store: boolean;
  readonly temperature: number;
  readonly top_p: number;
  readonly presence_penalty: number;
  readonly frequency_penalty: number;
  readonly top_logprobs: number;
  readonly text: { readonly format: Readonly<Record<string, unknown>>; readonly verbosity?: string };
  readonly tool_choice: string | Readonly<Record<string, unknown>>;
  readonly tools: readonly EchoedTool[];
  readonly truncation: 'auto' | 'disabled';
  readonly metadata: Readonly<Record<string, string>>;
  readonly safety_identifier: string | null;
  readonly prompt_cache_key: string | null;
  /** Not in the object if the request has none: OpenAI's document does not allow null here. */
  readonly user?: string;
  readonly prompt_cache_retention?: string;
}

type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed';
export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** The state of a response. */
export interface ResponseState {
  readonly status: ResponseStatus;
  /** Those of an upstream may be of kinds that are not created here. */
  readonly output: readonly object[];
  /** Unix seconds; null unless it is completed. */
  readonly completedAt: number | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly usage: BilledUsage | null;
}

/**
 * When a response was completed: by the clock that it was created by, and never before that, even if this clock was
 * set back meanwhile.
 *
 * @param createdAt Unix seconds. @param now milliseconds since 1970.
 * @returns Unix seconds.
 */
export function completionTime(createdAt: number, now: () => number): number {
  return Math.max(createdAt, Math.floor(now() / 1000));
}

/** @param createdAt Unix seconds. */
export function responseObject(
  { id, createdAt, model, echo }: { id: string; createdAt: number; model: string; echo: ResponseEcho },
  state: ResponseState,
): Readonly<Record<string, unknown>> {
  const { background, ...repeated } = echo;
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: state.status,
    completed_at: state.completedAt,
    background,
    error: state.error,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    model,
    output: state.output,
    service_tier: 'default',
    ...repeated,
    usage: state.usage === null ? null : wireUsage(state.usage),
  };
}

/** Usage in the form of this endpoint. */
export function wireUsage(usage: BilledUsage): Readonly<Record<string, unknown>> {
  return {
    input_tokens: usage.inputTokens,
    // No upstream reports what it wrote into its cache, and none of it is billed.
    input_tokens_details: { cached_tokens: usage.cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

/**
 * How a response that breaks off reports that in its stream: what an event of type `error` has in addition to its type
 * and number: OpenAI's document has the members in the event itself, OpenAI's API and Open Responses in `error`.
 */
export function errorMembers({
  errorCode,
  message,
  type,
  code,
  param,
}: TextProblem): Readonly<Record<string, unknown>> {
  return { code, message, param, error_code: errorCode, error: { type, code, message, param } };
}

/** The content of `error` in the response object. OpenAI's document has a closed set of words for its code. */
export function responseError({ status, message }: TextProblem): { readonly code: string; readonly message: string } {
  if (status === 429) return { code: 'rate_limit_exceeded', message };
  return { code: status >= 400 && status < 500 ? 'invalid_prompt' : 'server_error', message };
}
