/** What the bodies for both interfaces of an upstream have in common: the cap, and the operator's own parameters. */
import type { TextFeature } from '@darkroom/api/facts/text-features';
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import type { TextCall } from '../source.ts';
import type { Members } from './chat-choice.ts';

/** The relative error of our count of input tokens, because another model's tokens differ from OpenAI's. */
const COUNT_ERROR = 0.1;

/**
 * The maximum number of tokens that is sent to the upstream. It is always sent, because the hold is for this number,
 * and it is never more than there is room for. Servers reject a cap that the context cannot hold: if the client names
 * none, some of the room is left for what we may have miscounted, and never more than half of it.
 */
export function capOf({ model, request, tally }: TextCall): number {
  const { inputTokens } = tally;
  const room = Math.max(1, model.contextTokens - inputTokens);
  if (request.maxOutputTokens !== undefined) return Math.min(request.maxOutputTokens, room);
  const sure = Math.floor(Math.max(room - inputTokens * COUNT_ERROR, room / 2));
  return Math.max(1, Math.min(model.maxOutputTokens, sure));
}

/**
 * The feature that a parameter requests; for a model without it, only a request for the default was accepted
 * (features.ts).
 */
const FEATURES: Readonly<Record<string, TextFeature>> = {
  n: 'n',
  stop: 'stop',
  seed: 'seed',
  temperature: 'temperature',
  top_p: 'top_p',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  logit_bias: 'logit_bias',
  logprobs: 'logprobs',
  top_logprobs: 'logprobs',
  tools: 'tools',
  tool_choice: 'tools',
  parallel_tool_calls: 'parallel_tool_calls',
  reasoning: 'reasoning',
  reasoning_effort: 'reasoning',
  verbosity: 'verbosity',
};
const ABOUT_TOOLS: ReadonlySet<string> = new Set(['tools', 'tool_choice', 'parallel_tool_calls']);

/**
 * The members of a body that are worth sending. Null is how many clients say "not given", and more than some servers
 * understand; a parameter that disables a feature which the model does not have is rejected by servers that do not know
 * it.
 *
 * @param left what is not sent in any case.
 */
export function worthSending(
  body: Members,
  { model, request }: TextCall,
  left: ReadonlySet<string>,
): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (value === null || left.has(name)) continue;
    const feature = Object.hasOwn(FEATURES, name) ? FEATURES[name] : undefined;
    if (feature !== undefined && !model.features.includes(feature)) continue;
    if (request.tools.length === 0 && ABOUT_TOOLS.has(name)) continue;
    sent[name] = value;
  }
  return sent;
}

/** The operator's parameters take precedence; null removes a parameter. What the call itself depends on stays. */
export function withOperators(
  body: Record<string, unknown>,
  { parameters = {} }: TextUpstream,
  essential: Members,
): Record<string, unknown> {
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) delete body[name];
    else body[name] = value;
  }
  return { ...body, ...essential };
}
