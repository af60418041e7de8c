/** The optional features of text models. */

/**
 * The features that a request may use in addition to text. A model without a feature rejects the request and names the
 * parameter.
 */
export const TEXT_FEATURES = [
  'images',
  'n',
  'stop',
  'seed',
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'json_object',
  'json_schema',
  'tools',
  'parallel_tool_calls',
  'reasoning',
  'verbosity',
] as const;
export type TextFeature = (typeof TEXT_FEATURES)[number];
