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
        description: `From 1. Only the first ${MAX_PAGED_OUTPUTS} rows can be paged through.`,
        'x-clamped': true,
      }),
    ),
    size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Rows of a page.', 'x-clamped': true }),
    ),
    storage_tier: Type.Optional(
      Type.Unsafe<'temp' | 'persistent'>({ ...Tier, description: 'Only outputs of this storage tier.' }),
    ),
    taskId: Type.Optional(Type.String({ pattern: OUTPUT_ID, description: 'Only the outputs of this task.' })),
    type: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9_]{1,32}$',
        description: '`image video audio first_frame last_frame thumbnail`, an open set.',
      }),
    ),
    status: Type.Optional(
      Type.Unsafe<OutputStatus>({
        type: 'string',
        enum: [...STATUSES],
        description: 'Default: everything that is not deleted.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const StorageItemSchema = Type.Object(
  {
    id: Type.String(),
    taskId: Type.String({ description: 'The task that made it.' }),
    model: Type.String({ description: 'The resolved full name.' }),
    type: Type.String({ description: '`image video audio first_frame last_frame thumbnail`, an open set.' }),
    mimeType: Type.String(),
    size: Type.Integer({ minimum: 0, description: 'Bytes.' }),
    url: Type.String({ description: 'Downloadable without a key; empty for what is deleted.' }),
    expireAt: Type.Integer({ minimum: 0, description: 'Unix seconds: when `url` stops working; 0 without one.' }),
    storage_tier: Tier,
    status: Type.Unsafe<OutputStatus>({
      type: 'string',
      enum: [...STATUSES],
      description: '`pending` while it is being promoted; `deleted` also once its retention has ended.',
    }),
    created: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
    retainUntil: Type.Integer({ minimum: 0, description: 'Unix seconds; 0 for persistent ones.' }),
  },
  { additionalProperties: false },
);

export const StorageListSchema = Type.Object(
  {
    page: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    total: Type.Integer({ minimum: 0, maximum: MAX_PAGED_OUTPUTS, description: `Exact up to ${MAX_PAGED_OUTPUTS}.` }),
    totalIsCapped: Type.Optional(Type.Literal(true, { description: 'There are more than `total`.' })),
    items: Type.Array(StorageItemSchema, { maxItems: 100, description: 'Newest first.' }),
  },
  { additionalProperties: false },
);

export const OutputIdsSchema = Type.Array(Type.String({ pattern: OUTPUT_ID }), {
  minItems: 1,
  maxItems: MAX_IDS,
  description: 'Ids of outputs; one given twice is one.',
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
              '`not_owned`: there is no such output of this account. `insufficient`: the balance does not cover its first day. `cap_exceeded`: it does not fit under the storage cap. `not_promotable`: it is persistent already. `already_deleted`: deleted, or its retention has ended. `storage_op_pending`: it is being promoted.',
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
