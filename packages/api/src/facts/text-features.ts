/** What text models can do. */

/** What a request may use besides text; a model without one of them rejects it by the parameter's name. */
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
