/** The options of a text request. */

/** The formats of a text model's output. */
export const OUTPUT_FORMATS = ['text', 'json_object', 'json_schema'] as const;

/** How much a model reasons before it generates its output; `none`: it does not reason. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];
