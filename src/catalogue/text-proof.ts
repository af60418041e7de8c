/** What a text model's file must satisfy beyond its form: its upstreams can be called, and its bounds fit together. */
import { isZeroFactor } from './price-proof.ts';
import type { TextModelDefinition, TextUpstream } from './text-definition.ts';

/** The first problem with its position, or undefined. */
export function findTextModelProblem({
  upstreams,
  contextTokens,
  maxOutputTokens,
  inputTokens,
  pricing,
}: TextModelDefinition): string | undefined {
  if (isZeroFactor(pricing.batchFactor)) return 'pricing.batchFactor: it is 0';
  if (maxOutputTokens > contextTokens) {
    return `maxOutputTokens: ${maxOutputTokens} is more than contextTokens, ${contextTokens}`;
  }
  if (inputTokens?.tokenizer !== undefined && inputTokens.tokensPerByte !== undefined) {
    return 'inputTokens: tokenizer and tokensPerByte exclude each other; keep one';
  }
  for (const [index, upstream] of upstreams.entries()) {
    const problem = findUpstreamProblem(upstream);
    if (problem !== undefined) return `upstreams.${index}.${problem}`;
  }
  return undefined;
}

function findUpstreamProblem({ protocol, baseUrl, secret, apis }: TextUpstream): string | undefined {
  if (protocol === 'embedded') {
    if (baseUrl !== undefined) return 'baseUrl: protocol embedded has none';
    return secret === undefined ? undefined : 'secret: protocol embedded has none';
  }
  if (baseUrl === undefined) return 'baseUrl: missing for protocol openai';
  if (!URL.canParse(baseUrl)) return 'baseUrl: not an address';
  if (apis !== undefined && !apis.includes('chat.completions')) return 'apis: chat.completions is missing';
  return undefined;
}
