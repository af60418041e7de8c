/**
 * What upstreams answer, read as it comes: the choices of a chat completion, whole or in the chunks of a stream,
 * errors, and on either interface the usage. Servers differ; everything that can be understood is accepted, and a value
 * of the wrong type violates the protocol.
 */
import { isRecord } from '../../domain/json.ts';
import type { FinishReason, TokenLogprob, TokenUsage } from '../source.ts';
import { brokenOff, invalidAnswer } from './upstream-failure.ts';

export type Members = Readonly<Record<string, unknown>>;

/** The content of one choice, in a chunk or altogether. Texts are empty if there is none. */
export interface ChoicePart {
  readonly index: number;
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  /** Unchanged; `ToolCalls` interprets them. */
  readonly toolCalls: readonly Members[];
  /** Unchanged: an object, or undefined. */
  readonly logprobs: Members | undefined;
  readonly finish: FinishReason | undefined;
  /** Its own members, and those of its delta or message. */
  readonly choice: Members;
  readonly content: Members;
  /** Whether it deviates from OpenAI's specification, so that it is encoded again for the client. */
  readonly isIrregular: boolean;
}

export interface ChatPiece {
  readonly parts: readonly ChoicePart[];
  readonly usage: TokenUsage | undefined;
}

/**
 * @param member the member of a choice with its content: `delta` in a stream, `message` in a completion.
 * @throws {UpstreamFailure} `upstream_invalid`.
 */
export function readChatPiece(json: unknown, member: 'delta' | 'message'): ChatPiece {
  if (!isRecord(json)) throw invalidAnswer('an answer that is no object');
  assertNoError(json['error']);
  const usage = chatUsage(json['usage']);
  const choices = json['choices'];
  if (choices == null && json['usage'] != null) return { parts: [], usage };
  if (!Array.isArray(choices)) throw invalidAnswer('an answer without choices');
  return { parts: choices.map((choice, index) => readChoice(choice, index, member)), usage };
}

/** @throws {UpstreamFailure} there is an error instead of an answer. Its code is reported, its message is not. */
export function assertNoError(error: unknown): void {
  if (error == null || error === '') return;
  throw brokenOff('an error instead of an answer', isRecord(error) ? codeOf(error) : undefined);
}

/** OpenAI's code for an error; never a text. */
export function codeOf(error: Members): string | undefined {
  for (const value of [error['code'], error['type']]) {
    if (typeof value === 'number' || (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value))) return String(value);
  }
  return undefined;
}

function readChoice(choice: unknown, position: number, member: 'delta' | 'message'): ChoicePart {
  if (!isRecord(choice)) throw invalidAnswer('a choice that is no object');
  assertNoError(choice['error']);
  const index = choice['index'] ?? position;
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0) {
    throw invalidAnswer('a choice whose index is no number');
  }
  const message = choice[member] ?? {};
  if (!isRecord(message)) throw invalidAnswer(`a ${member} that is no object`);
  const wireFinish = choice['finish_reason'];
  const finish = finishOf(wireFinish);
  const older = textOf(message, 'reasoning');
  const reasoning = textOf(message, 'reasoning_content');
  const toolCalls = message['tool_calls'] ?? [];
  if (!Array.isArray(toolCalls) || !toolCalls.every(isRecord)) throw invalidAnswer('tool calls that are no objects');
  return {
    index,
    text: textOf(message, 'content'),
    refusal: textOf(message, 'refusal'),
    reasoning: reasoning === '' ? older : reasoning,
    toolCalls,
    logprobs: isRecord(choice['logprobs']) ? choice['logprobs'] : undefined,
    finish,
    choice,
    content: message,
    isIrregular:
      choice['index'] === undefined ||
      choice[member] == null ||
      wireFinish === undefined ||
      (finish ?? null) !== wireFinish ||
      older !== '',
  };
}

function textOf(message: Members, name: string): string {
  const value = message[name] ?? '';
  if (typeof value !== 'string') throw invalidAnswer(`a ${name} that is no text`);
  return value;
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
  // Other servers' names for the same.
  max_tokens: 'length',
  model_length: 'length',
  function_call: 'tool_calls',
  tool_use: 'tool_calls',
  safety: 'content_filter',
};

/** Values with which a server reports that it stopped. */
const FAILURES = new Set(['error', 'abort', 'aborted', 'cancelled', 'canceled']);

/** @returns undefined: the choice continues. */
function finishOf(value: unknown): FinishReason | undefined {
  if (value == null || value === '') return undefined;
  if (typeof value !== 'string') throw invalidAnswer('a finish_reason that is no word');
  const word = value.toLowerCase();
  if (FAILURES.has(word)) throw brokenOff('an answer that was aborted');
  // `eos`, `end_turn`, `stop_sequence` …: it has ended.
  return Object.hasOwn(FINISH_REASONS, word) ? FINISH_REASONS[word] : 'stop';
}

/** Logprobs of a choice's text, as events carry them. @throws {UpstreamFailure} */
export function readLogprobs(logprobs: Members | undefined): readonly TokenLogprob[] | undefined {
  const content = logprobs?.['content'];
  if (content == null) return undefined;
  if (!Array.isArray(content)) throw invalidAnswer('logprobs that are no list');
  return content.map((entry) => {
    const alternatives: unknown = isRecord(entry) ? (entry['top_logprobs'] ?? []) : undefined;
    if (!Array.isArray(alternatives)) throw invalidAnswer('logprobs that are no list');
    return { ...tokenOf(entry), alternatives: alternatives.map(tokenOf) };
  });
}

function tokenOf(entry: unknown): Omit<TokenLogprob, 'alternatives'> {
  const { token, logprob, bytes } = isRecord(entry) ? entry : {};
  if (typeof token !== 'string' || typeof logprob !== 'number') throw invalidAnswer('a logprob without a token');
  return { token, logprob, bytes: Array.isArray(bytes) ? bytes.map(Number) : null };
}

/**
 * The usage of a chat completion or one of its chunks. Upstreams differ in how they report it, and invalid usage counts
 * as none: an answer is not lost over it, and is counted here instead.
 */
function chatUsage(value: unknown): TokenUsage | undefined {
  if (!isRecord(value)) return undefined;
  const input = countOf(value['prompt_tokens']);
  const output = countOf(value['completion_tokens']);
  const cached =
    detail(value, 'prompt_tokens_details', 'cached_tokens') ?? countOf(value['prompt_cache_hit_tokens']) ?? 0;
  const reasoning = detail(value, 'completion_tokens_details', 'reasoning_tokens') ?? 0;
  return usageOf({ input, output, cached, reasoning, total: countOf(value['total_tokens']) });
}

/** The same of a response. */
export function responsesUsage(value: unknown): TokenUsage | undefined {
  if (!isRecord(value)) return undefined;
  return usageOf({
    input: countOf(value['input_tokens']),
    output: countOf(value['output_tokens']),
    cached: detail(value, 'input_tokens_details', 'cached_tokens') ?? 0,
    reasoning: detail(value, 'output_tokens_details', 'reasoning_tokens') ?? 0,
    total: countOf(value['total_tokens']),
  });
}

function usageOf(counts: {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number;
  readonly reasoning: number;
  readonly total: number | undefined;
}): TokenUsage | undefined {
  const { input, output, cached, reasoning, total } = counts;
  if (input === undefined || output === undefined) return undefined;
  // Servers that count nothing report zeros.
  if (input === 0 && output === 0) return undefined;
  // Most count reasoning as a part of the output; those that do not are recognized by the sum.
  const isBeside = reasoning > 0 && (reasoning > output || total === input + output + reasoning);
  return {
    inputTokens: input,
    cachedInputTokens: Math.min(cached, input),
    outputTokens: isBeside ? output + reasoning : output,
    reasoningTokens: reasoning,
  };
}

function detail(usage: Members, group: string, name: string): number | undefined {
  const details = usage[group];
  return isRecord(details) ? countOf(details[name]) : undefined;
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
