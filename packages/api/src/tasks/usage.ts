/**
 * What an account used, summed (contract §7 `GET /account/usage?from&to&groupBy=day,model,keyId`).
 */
import { Type } from 'typebox';
import type { UsageGroup } from '../facts/usage-groups.ts';
import { USAGE_GROUPS } from '../facts/usage-groups.ts';
import type { Static } from 'typebox';
import { Currency, usd } from './fields.ts';
import { DEFAULT_USAGE_DAYS, MAX_USAGE_DAYS, MAX_USAGE_ROWS } from '../facts/limits.ts';

function utcDay(description: string) {
  return Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description });
}

const Group = Type.Unsafe<UsageGroup>({ type: 'string', enum: [...USAGE_GROUPS] });

const TextOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Null for storage.' });

export const UsageQuerySchema = Type.Object(
  {
    from: Type.Optional(
      utcDay(`The first UTC day. By default, the range is the ${DEFAULT_USAGE_DAYS} days that end with \`to\`.`),
    ),
    to: Type.Optional(utcDay(`The last UTC day. Default today. The range can have at most ${MAX_USAGE_DAYS} days.`)),
    groupBy: Type.Optional(
      Type.Array(Group, {
        minItems: 1,
        maxItems: USAGE_GROUPS.length,
        uniqueItems: true,
        description: 'What to group by, separated by commas. Default `day`.',
      }),
    ),
    user: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 512,
        description:
          'Only the amounts for one end user: `user` or `safety_identifier` of text calls, and `metadata.user` of tasks. Tasks and calls that were pruned are not found.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type WireUsageQuery = Static<typeof UsageQuerySchema>;

const sums = {
  captured: usd('The captured amount.'),
  count: Type.Integer({
    minimum: 0,
    description: 'The number of tasks and text requests that an amount was captured for. Storage is not counted.',
  }),
};

export const UsageSchema = Type.Object(
  {
    from: utcDay('The first day of the range.'),
    to: utcDay('The last day of the range.'),
    groupBy: Type.Array(Group),
    currency: Currency,
    rows: Type.Array(
      Type.Object(
        {
          day: Type.Optional(utcDay('The UTC day.')),
          model: Type.Optional(TextOrNull),
          keyId: Type.Optional(TextOrNull),
          ...sums,
        },
        { additionalProperties: false },
      ),
      {
        maxItems: MAX_USAGE_ROWS,
        description: 'Rows in the order of day, model and key. Rows that are all zero are omitted.',
      },
    ),
    total: Type.Object(sums, { additionalProperties: false }),
  },
  { additionalProperties: false },
);

/** As operators see it: with the costs that they bear themselves. */
export const AdminUsageSchema = Type.Object(
  {
    ...UsageSchema.properties,
    holdsExceeded: Type.Object(
      {
        calls: Type.Integer({ minimum: 0 }),
        amount: usd('The operator cost (`hold_exceeded`), which is not part of `captured`.'),
      },
      {
        additionalProperties: false,
        description: 'Text calls whose upstream reported more usage than was held, and their cost beyond the holds.',
      },
    ),
  },
  { additionalProperties: false },
);

export type WireUsage = Static<typeof UsageSchema>;
