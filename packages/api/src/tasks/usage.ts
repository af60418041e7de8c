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

const TextOrNull = Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'null: storage.' });

export const UsageQuerySchema = Type.Object(
  {
    from: Type.Optional(utcDay(`The first UTC day; default ${DEFAULT_USAGE_DAYS} days that end with \`to\`.`)),
    to: Type.Optional(utcDay(`The last UTC day; default today. At most ${MAX_USAGE_DAYS} days.`)),
    groupBy: Type.Optional(
      Type.Array(Group, {
        minItems: 1,
        maxItems: USAGE_GROUPS.length,
        uniqueItems: true,
        description: 'Separated by commas; default `day`.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type WireUsageQuery = Static<typeof UsageQuerySchema>;

const sums = {
  captured: usd('What was captured.'),
  count: Type.Integer({
    minimum: 0,
    description: 'How many tasks and text requests something was captured for; storage counts none.',
  }),
};

export const UsageSchema = Type.Object(
  {
    from: utcDay('The first day that is counted.'),
    to: utcDay('The last one.'),
    groupBy: Type.Array(Group),
    currency: Currency,
    rows: Type.Array(
      Type.Object(
        {
          day: Type.Optional(utcDay('UTC.')),
          model: Type.Optional(TextOrNull),
          keyId: Type.Optional(TextOrNull),
          ...sums,
        },
        { additionalProperties: false },
      ),
      {
        maxItems: MAX_USAGE_ROWS,
        description: 'In the order of day, model and key. What would be all zero is left out.',
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
        amount: usd('An operator cost (`hold_exceeded`); not in `captured`.'),
      },
      {
        additionalProperties: false,
        description: 'Text calls whose upstream reported more than was held, and what that cost beyond their holds.',
      },
    ),
  },
  { additionalProperties: false },
);

export type WireUsage = Static<typeof UsageSchema>;
