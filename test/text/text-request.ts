/** A request for text with every parameter at its default. */
import type { TextRequest } from '../../src/text/request.ts';

/** @param given the model and its messages, and whatever differs from the defaults. */
export function textRequest(given: Pick<TextRequest, 'model'> & Partial<TextRequest>): TextRequest {
  return {
    messages: [],
    maxOutputTokens: undefined,
    stop: [],
    choices: 1,
    temperature: undefined,
    topP: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    logitBias: undefined,
    seed: undefined,
    topLogprobs: undefined,
    format: { type: 'text' },
    tools: [],
    toolChoice: 'auto',
    parallelToolCalls: true,
    reasoningEffort: undefined,
    ...given,
  };
}
