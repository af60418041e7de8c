/**
 * What a request requires of a model beyond text, and the rejection of what the model does not have: "a parameter that
 * a model cannot honour is 400, never silently ignored" (contract §9).
 */
import type { TextFeature } from '@darkroom/api/facts/text-features';
import type { TextModelDefinition } from '../catalogue/text-definition.ts';
import type { TextRequest } from './request.ts';
import { InvalidTextRequest } from './text-failure.ts';

/** The parameter with which each endpoint requests a feature, where they differ. */
export interface ParameterNames {
  readonly conversation: string;
  readonly format: string;
  readonly reasoning: string;
  readonly logprobs: string;
  readonly verbosity: string;
  readonly cap: string;
}

export const CHAT_PARAMETERS: ParameterNames = {
  conversation: 'messages',
  format: 'response_format',
  reasoning: 'reasoning_effort',
  logprobs: 'logprobs',
  verbosity: 'verbosity',
  cap: 'max_completion_tokens',
};

export const RESPONSES_PARAMETERS: ParameterNames = {
  conversation: 'input',
  format: 'text.format',
  reasoning: 'reasoning.effort',
  logprobs: 'top_logprobs',
  verbosity: 'text.verbosity',
  cap: 'max_output_tokens',
};

/** @throws {InvalidTextRequest} naming the parameter. */
export function requireFeatures(request: TextRequest, model: TextModelDefinition, names: ParameterNames): void {
  const has = new Set<TextFeature>(model.features);
  for (const [feature, param] of requestedFeatures(request, names)) {
    if (has.has(feature)) continue;
    const shown = JSON.stringify(param);
    // Every model has the parameter itself.
    const problem =
      feature === 'images' ? `has an image, and ${model.name} takes no images` : `is not supported by ${model.name}`;
    const message = `unsupported parameter: ${shown} ${problem}`;
    throw new InvalidTextRequest(param, message, 'unsupported_parameter');
  }
}

/** The features that a request needs, with the parameter of each. Requesting a default requests nothing. */
function* requestedFeatures(request: TextRequest, names: ParameterNames): Generator<readonly [TextFeature, string]> {
  for (const { content } of request.messages) {
    if (content.some(({ type }) => type === 'image')) yield ['images', names.conversation];
  }
  if (request.choices > 1) yield ['n', 'n'];
  if (request.stop.length > 0) yield ['stop', 'stop'];
  if (request.seed !== undefined) yield ['seed', 'seed'];
  if (request.temperature !== undefined) yield ['temperature', 'temperature'];
  if (request.topP !== undefined) yield ['top_p', 'top_p'];
  if (request.frequencyPenalty !== undefined && request.frequencyPenalty !== 0)
    yield ['frequency_penalty', 'frequency_penalty'];
  if (request.presencePenalty !== undefined && request.presencePenalty !== 0)
    yield ['presence_penalty', 'presence_penalty'];
  if (request.logitBias !== undefined && Object.keys(request.logitBias).length > 0) yield ['logit_bias', 'logit_bias'];
  if (request.topLogprobs !== undefined) yield ['logprobs', names.logprobs];
  if (request.format.type === 'json_object') yield ['json_object', names.format];
  if (request.format.type === 'json_schema') yield ['json_schema', names.format];
  if (request.tools.length > 0) yield ['tools', 'tools'];
  if (request.tools.length > 0 && !request.parallelToolCalls) yield ['parallel_tool_calls', 'parallel_tool_calls'];
  if (request.reasoningEffort !== undefined && request.reasoningEffort !== 'none') yield ['reasoning', names.reasoning];
  if (request.verbosity !== undefined && request.verbosity !== 'medium') yield ['verbosity', names.verbosity];
}

/** @throws {InvalidTextRequest} the request's cap is above what the model gives. */
export function requireCap({ maxOutputTokens }: TextRequest, model: TextModelDefinition, names: ParameterNames): void {
  if (maxOutputTokens === undefined || maxOutputTokens <= model.maxOutputTokens) return;
  const message = `${names.cap}: got ${maxOutputTokens}, and ${model.name} gives at most ${model.maxOutputTokens} tokens`;
  throw new InvalidTextRequest(names.cap, message);
}
