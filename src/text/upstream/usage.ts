/**
 * Usage as upstreams report it, on either interface, and the ways in which they differ. Invalid usage counts as none:
 * an answer is not lost over it, and is counted here instead.
 */
import type { TokenUsage } from '../events.ts';
import { isObject } from './chat-choice.ts';
import type { Members } from './chat-choice.ts';

/** The usage of a chat completion or one of its chunks. */
export function chatUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
  const input = countOf(value['prompt_tokens']);
  const output = countOf(value['completion_tokens']);
  const cached =
    detail(value, 'prompt_tokens_details', 'cached_tokens') ?? countOf(value['prompt_cache_hit_tokens']) ?? 0;
  const reasoning = detail(value, 'completion_tokens_details', 'reasoning_tokens') ?? 0;
  return usageOf({ input, output, cached, reasoning, total: countOf(value['total_tokens']) });
}

/** The usage of a response. */
export function responsesUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) return undefined;
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
  return isObject(details) ? countOf(details[name]) : undefined;
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
