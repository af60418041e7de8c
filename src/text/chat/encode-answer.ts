/**
 * An answer in the form of `POST /chat/completions` (spec §4.4.2, contract §9): chunks with deltas, or one completion.
 * Both come from the same events. Reasoning is in `reasoning_content`, where most clients of this API look for it.
 */
import { frameOf, errorBody } from '../encoder.ts';
import type { AnswerEncoder, TextProblem } from '../encoder.ts';
import type { FinishReason, TextEvent, TokenLogprob, TokenUsage } from '../source.ts';

/** The fields in every chunk of an answer. */
export interface ChatAnswerMeta {
  /** `chatcmpl-…`. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The model's name here. */
  readonly model: string;
  readonly choices: number;
  /** `stream_options.include_usage`: chunks have a `usage`, which is null except in the last. */
  readonly includesUsage: boolean;
}

interface Choice {
  text: string | undefined;
  refusal: string | undefined;
  reasoning: string | undefined;
  logprobs: TokenLogprob[] | undefined;
  finish: FinishReason | undefined;
  readonly toolCalls: { readonly id: string; readonly name: string; arguments: string }[];
}

export function createChatEncoder(meta: ChatAnswerMeta): AnswerEncoder {
  const head = { id: meta.id, object: 'chat.completion.chunk', created: meta.created, model: meta.model };
  const tail = meta.includesUsage ? { usage: null } : {};
  const choices = Array.from({ length: meta.choices }, newChoice);
  let usage: TokenUsage | undefined;

  const chunk = (index: number, delta: object, rest: { logprobs?: unknown; finish?: FinishReason } = {}): string => {
    const { logprobs = null, finish = null } = rest;
    return frameOf({ ...head, choices: [{ index, delta, logprobs, finish_reason: finish }], ...tail });
  };

  return {
    begin: () => choices.map((_, index) => chunk(index, { role: 'assistant', content: '', refusal: null })),
    next(event) {
      if (event.type === 'usage') {
        usage = event.usage;
        return [];
      }
      const choice = choices[event.choice];
      if (choice === undefined || event.type === 'image') return [];
      note(choice, event);
      return [chunk(event.choice, deltaOf(event), restOf(event))];
    },
    end(billed) {
      usage = billed;
      return meta.includesUsage ? [frameOf({ ...head, choices: [], usage: wireUsage(billed) })] : [];
    },
    fail: (problem: TextProblem) => [frameOf(errorBody(problem))],
    answer: () => ({
      ...head,
      object: 'chat.completion',
      choices: choices.map((choice, index) => ({
        index,
        message: messageOf(choice),
        logprobs: choice.logprobs === undefined ? null : wireLogprobs(choice.logprobs),
        finish_reason: choice.finish ?? 'stop',
      })),
      ...(usage === undefined ? {} : { usage: wireUsage(usage) }),
    }),
  };
}

function newChoice(): Choice {
  return {
    text: undefined,
    refusal: undefined,
    reasoning: undefined,
    logprobs: undefined,
    finish: undefined,
    toolCalls: [],
  };
}

type ChoiceEvent = Exclude<TextEvent, { type: 'usage' | 'image' }>;

function note(choice: Choice, event: ChoiceEvent): void {
  switch (event.type) {
    case 'text':
      choice.text = (choice.text ?? '') + event.text;
      if (event.logprobs !== undefined) (choice.logprobs ??= []).push(...event.logprobs);
      return;
    case 'refusal':
      choice.refusal = (choice.refusal ?? '') + event.text;
      return;
    case 'reasoning':
      choice.reasoning = (choice.reasoning ?? '') + event.text;
      return;
    case 'tool_call':
      choice.toolCalls[event.index] = { id: event.id, name: event.name, arguments: '' };
      return;
    case 'tool_arguments': {
      const call = choice.toolCalls[event.index];
      if (call !== undefined) call.arguments += event.text;
      return;
    }
    case 'finish':
      choice.finish = event.reason;
  }
}

function deltaOf(event: ChoiceEvent): object {
  switch (event.type) {
    case 'text':
      return { content: event.text };
    case 'refusal':
      return { refusal: event.text };
    case 'reasoning':
      return { reasoning_content: event.text };
    case 'tool_call': {
      const { index, id, name } = event;
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
    }
    case 'tool_arguments':
      return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
    case 'finish':
      return {};
  }
}

function restOf(event: ChoiceEvent): { logprobs?: unknown; finish?: FinishReason } {
  if (event.type === 'finish') return { finish: event.reason };
  if (event.type === 'text' && event.logprobs !== undefined) return { logprobs: wireLogprobs(event.logprobs) };
  return {};
}

function messageOf(choice: Choice): object {
  // A call that began out of order leaves a hole.
  const toolCalls = choice.toolCalls.filter((call) => call !== undefined);
  const isSilent = choice.text === undefined && (toolCalls.length > 0 || choice.refusal !== undefined);
  return {
    role: 'assistant',
    content: isSilent ? null : (choice.text ?? ''),
    refusal: choice.refusal ?? null,
    annotations: [],
    ...(choice.reasoning === undefined ? {} : { reasoning_content: choice.reasoning }),
    ...(toolCalls.length === 0
      ? {}
      : {
          tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
          })),
        }),
  };
}

function wireLogprobs(logprobs: readonly TokenLogprob[]): object {
  const content = logprobs.map(({ token, logprob, bytes, alternatives }) => ({
    token,
    logprob,
    bytes,
    top_logprobs: alternatives,
  }));
  return { content, refusal: null };
}

/** Usage in the form of this endpoint. */
export function wireUsage({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: TokenUsage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
