/** `/batches` (contract §10): OpenAI's public API for many requests in a file. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { UnixSeconds } from '../tasks/fields.ts';
import { FILE_EXPIRY_SECONDS } from './files.ts';

/** Those of text models. */
export const TEXT_BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/responses'] as const;

/** What the lines of a batch may be requests of. */
export const BATCH_ENDPOINTS = [
  '/v1/tasks',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/videos',
  ...TEXT_BATCH_ENDPOINTS,
] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** The maximum number of lines of a batch: OpenAI's. */
export const MAX_BATCH_LINES = 50_000;
/** The time in which a batch is done, as clients write it, and in seconds. */
export const COMPLETION_WINDOW = '24h';
export const COMPLETION_WINDOW_SECONDS = 86_400;

/** OpenAI's statuses, in their order. */
export const BATCH_STATUSES = [
  'validating',
  'in_progress',
  'finalizing',
  'completed',
  'failed',
  'expired',
  'cancelling',
  'cancelled',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/**
 * What durable work waits for: the account's suspension, the end of the day for which a spend cap holds, a rate limit or
 * a queue limit, what other work holds, a model that is not offered or whose upstream cannot answer at this moment, a
 * response that is in progress, a part of the service. All of them pass.
 */
export const WAIT_REASONS = [
  'account',
  'daily_spend_cap',
  'rate_limit',
  'balance',
  'model',
  'response',
  'service',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

export function isTextBatchEndpoint(endpoint: BatchEndpoint): boolean {
  return TEXT_BATCH_ENDPOINTS.some((each) => each === endpoint);
}

const BATCH_ID = '^batch_[0-9A-HJKMNP-TV-Z]{26}$';
const Endpoint = (description: string) =>
  Type.Unsafe<BatchEndpoint>({ type: 'string', enum: [...BATCH_ENDPOINTS], description });
const Metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 16,
  propertyNames: { type: 'string', minLength: 1, maxLength: 64 },
  additionalProperties: { type: 'string', maxLength: 512 },
});

export const CreateBatchSchema = Type.Object(
  {
    input_file_id: Type.String({
      minLength: 1,
      maxLength: 64,
      description: `A file with the purpose \`batch\`: at most ${MAX_BATCH_LINES} lines, each with \`custom_id\`, \`method\`, \`url\` and \`body\`.`,
    }),
    endpoint: Endpoint('The `url` of every line.'),
    completion_window: Type.Literal(COMPLETION_WINDOW),
    metadata: Type.Optional(Type.Union([Metadata, Type.Null()])),
    output_expires_after: Type.Optional(
      Type.Object(
        {
          anchor: Type.Literal('created_at'),
          seconds: Type.Integer({ minimum: FILE_EXPIRY_SECONDS.minimum, maximum: FILE_EXPIRY_SECONDS.maximum }),
        },
        {
          additionalProperties: false,
          description: 'How long the files with the results are kept. Default: 30 days.',
        },
      ),
    ),
  },
  { additionalProperties: false },
);
export type CreateBatchBody = Static<typeof CreateBatchSchema>;

/** Why a batch has failed as a whole. */
export const BatchProblemSchema = Type.Object({
  code: Type.String(),
  message: Type.String(),
  param: Type.Union([Type.String(), Type.Null()]),
  line: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]),
});
export type BatchProblem = Static<typeof BatchProblemSchema>;

const time = Type.Optional(UnixSeconds);
const Tokens = Type.Integer({ minimum: 0 });

/** OpenAI's, as of a response. */
const BatchUsage = Type.Object(
  {
    input_tokens: Tokens,
    input_tokens_details: Type.Object({ cached_tokens: Tokens }),
    output_tokens: Tokens,
    output_tokens_details: Type.Object({ reasoning_tokens: Tokens }),
    total_tokens: Tokens,
  },
  { description: 'The tokens of the lines that were answered, in their order so far. Only for text models.' },
);

export const BatchSchema = Type.Object({
  id: Type.String({ pattern: BATCH_ID }),
  object: Type.Literal('batch'),
  endpoint: Endpoint('As requested.'),
  model: Type.Optional(Type.String({ description: 'The model that all lines name, once they were read.' })),
  errors: Type.Optional(
    Type.Object(
      { object: Type.Literal('list'), data: Type.Array(BatchProblemSchema) },
      { description: 'With the status `failed`.' },
    ),
  ),
  input_file_id: Type.String(),
  completion_window: Type.String(),
  status: Type.Unsafe<BatchStatus>({ type: 'string', enum: [...BATCH_STATUSES] }),
  waiting_for: Type.Optional(
    Type.Unsafe<WaitReason>({
      type: 'string',
      enum: [...WAIT_REASONS],
      description:
        'Why some of its lines wait, while they do; `service` also while its files cannot be read or written. Ours.',
    }),
  ),
  output_file_id: Type.Optional(Type.String({ description: 'The results of the lines that succeeded.' })),
  error_file_id: Type.Optional(Type.String({ description: 'The errors of the other lines.' })),
  created_at: UnixSeconds,
  in_progress_at: time,
  expires_at: UnixSeconds,
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: Type.Object({
    total: Type.Integer({ minimum: 0 }),
    completed: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
  }),
  usage: Type.Optional(BatchUsage),
  metadata: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
});
export type WireBatch = Static<typeof BatchSchema>;

export const BatchListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(BatchSchema),
  first_id: Type.Optional(Type.String({ description: 'Absent: the page is empty.' })),
  last_id: Type.Optional(Type.String()),
  has_more: Type.Boolean(),
});

export const BatchListQuerySchema = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 20.' })),
    after: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'The id of the last batch of the previous page.' }),
    ),
  },
  { additionalProperties: false },
);
