/** What a request for text can choose from. */

/** The forms that an answer can have. */
export const OUTPUT_FORMATS = ['text', 'json_object', 'json_schema'] as const;

/** How much a model reasons before it answers; `none`: not at all. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];
