/**
 * Stored outputs as their owner sees them (contract §5): the list, and the result for each id that was to be promoted
 * or deleted. URLs are signed here, that is, whenever the list is read.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { OutputStatus, StorageRejectionReason } from '../facts/storage.ts';
import { MAX_PAGED_OUTPUTS } from '../facts/limits.ts';
import { STORAGE_REJECTION_REASONS } from '../facts/storage.ts';

/** Contract §5: "a JSON array of 1-50 output ids". */
const MAX_IDS = 50;

/** Ids have this form; one that names no output of the account is rejected in the response, not as a bad request. */
export const OUTPUT_ID = '^[A-Za-z0-9_-]{1,64}$';

const Tier = Type.Unsafe<'temp' | 'persistent'>({ type: 'string', enum: ['temp', 'persistent'] });

const STATUSES = ['available', 'pending', 'deleted'] as const satisfies readonly OutputStatus[];

export const StorageQuerySchema = Type.Object(
  {
    page: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        default: 1,
        description: `The page number, from 1. Only the first ${MAX_PAGED_OUTPUTS} outputs can be paged through.`,
        'x-clamped': true,
      }),
    ),
    size: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        default: 10,
        description: 'The number of outputs per page.',
        'x-clamped': true,
      }),
    ),
    storage_tier: Type.Optional(
      Type.Unsafe<'temp' | 'persistent'>({ ...Tier, description: 'Only outputs of this storage tier.' }),
    ),
    taskId: Type.Optional(Type.String({ pattern: OUTPUT_ID, description: 'Only the outputs of this task.' })),
    type: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9_]{1,32}$',
        description:
          '`image`, `video`, `audio`, `text`, `first_frame`, `last_frame` or `thumbnail`. More types may be added.',
      }),
    ),
    status: Type.Optional(
      Type.Unsafe<OutputStatus>({
        type: 'string',
        enum: [...STATUSES],
        description: 'Only outputs with this status. By default, all outputs that are not deleted.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const StorageItemSchema = Type.Object(
  {
    id: Type.String(),
    taskId: Type.String({ description: 'The task that generated the output.' }),
    model: Type.String({ description: 'The full name of the resolved model.' }),
    type: Type.String({
      description:
        '`image`, `video`, `audio`, `text`, `first_frame`, `last_frame` or `thumbnail`. More types may be added.',
    }),
    mimeType: Type.String(),
    size: Type.Integer({ minimum: 0, description: 'The size in bytes.' }),
    url: Type.String({
      description: 'The URL of the output, which can be downloaded without a key. Empty if the output is deleted.',
    }),
    expireAt: Type.Integer({
      minimum: 0,
      description: 'The time when `url` expires, in Unix seconds. 0 if there is no URL.',
    }),
    storage_tier: Tier,
    status: Type.Unsafe<OutputStatus>({
      type: 'string',
      enum: [...STATUSES],
      description: '`pending` while the output is being promoted. `deleted` also applies once its retention has ended.',
    }),
    created: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
    retainUntil: Type.Integer({
      minimum: 0,
      description: 'The end of the retention, in Unix seconds. 0 for persistent outputs.',
    }),
  },
  { additionalProperties: false },
);

export const StorageListSchema = Type.Object(
  {
    page: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    total: Type.Integer({
      minimum: 0,
      maximum: MAX_PAGED_OUTPUTS,
      description: `The number of matching outputs, exact up to ${MAX_PAGED_OUTPUTS}.`,
    }),
    totalIsCapped: Type.Optional(Type.Literal(true, { description: 'Present if there are more than `total`.' })),
    items: Type.Array(StorageItemSchema, { maxItems: 100, description: 'The outputs, newest first.' }),
  },
  { additionalProperties: false },
);

export const OutputIdsSchema = Type.Array(Type.String({ pattern: OUTPUT_ID }), {
  minItems: 1,
  maxItems: MAX_IDS,
  description: 'The ids of the outputs. Duplicates are ignored.',
});

export const StorageDecisionSchema = Type.Object(
  {
    accepted: Type.Array(Type.String(), { maxItems: MAX_IDS }),
    rejected: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          reason: Type.Unsafe<StorageRejectionReason>({
            type: 'string',
            enum: [...STORAGE_REJECTION_REASONS],
            description:
              '`not_owned`: the account has no such output. `insufficient`: the balance does not cover the first day of storage. `cap_exceeded`: the output would exceed the storage cap. `not_promotable`: the output is already persistent. `already_deleted`: the output was deleted or its retention has ended. `storage_op_pending`: the output is being promoted.',
          }),
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_IDS },
    ),
  },
  { additionalProperties: false },
);

export type WireStorageItem = Static<typeof StorageItemSchema>;

export type WireStorageList = Static<typeof StorageListSchema>;

export type WireStorageDecision = Static<typeof StorageDecisionSchema>;
