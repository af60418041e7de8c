/** What tasks and text calls cost the operator, and the margin that is left. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { MAX_USAGE_ROWS } from '../facts/limits.ts';
import { MARGIN_GROUPS } from '../facts/margin-groups.ts';
import type { MarginGroup } from '../facts/margin-groups.ts';
import { Currency, usd } from '../tasks/fields.ts';
import { UsageQuerySchema } from '../tasks/usage.ts';

const Group = Type.Unsafe<MarginGroup>({ type: 'string', enum: [...MARGIN_GROUPS] });

const FORMATS = ['json', 'csv'] as const;

export const MarginsQuerySchema = Type.Object(
  {
    from: UsageQuerySchema.properties.from,
    to: UsageQuerySchema.properties.to,
    groupBy: Type.Optional(
      Type.Array(Group, {
        minItems: 1,
        maxItems: MARGIN_GROUPS.length,
        uniqueItems: true,
        description: 'What to group by, separated by commas. Default `model`.',
      }),
    ),
    format: Type.Optional(
      Type.Unsafe<(typeof FORMATS)[number]>({
        type: 'string',
        enum: [...FORMATS],
        description: 'Default `json`. `csv` returns the rows as a file.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type WireMarginsQuery = Static<typeof MarginsQuerySchema>;

const Count = (description: string) => Type.Integer({ minimum: 0, description });

const SUMS = {
  tasks: Count('The number of tasks that ended in the range and whose work an upstream had.'),
  textCalls: Count(
    'The number of text calls that began in the range and were answered or charged, until they are pruned.',
  ),
  captured: usd('The amount that was captured for all of them.'),
  cost: Type.Union([usd('The sum of the costs that are known.'), Type.Null()], {
    description: 'Null: none is known.',
  }),
  margin: Type.Union(
    [
      Type.String({
        pattern: '^-?[0-9]+(\\.[0-9]{1,6})?$',
        description:
          'What was captured for the tasks and text calls whose cost is known, minus this cost. Below 0: sold below cost.',
      }),
      Type.Null(),
    ],
    { description: 'Null: no cost is known.' },
  ),
  tasksBelowCost: Count('The number of tasks that cost more than was captured for them.'),
  unknownTasks: Count('The number of tasks and text calls whose cost is not known.'),
  unknownCaptured: usd('The amount that was captured for them. It is part of `captured`, and not of `margin`.'),
  reportedTasks: Count('The number of tasks whose cost the provider reported.'),
  usageTasks: Count('The number of tasks whose cost is the reported usage at the rates of the model file.'),
  ruleTasks: Count(
    'The number of tasks whose cost is that of the price rule of the model file, and of text calls of embedded models; embedded work costs 0.',
  ),
};

export const MarginsSchema = Type.Object(
  {
    from: Type.String({ description: 'The first UTC day of the range.' }),
    to: Type.String({ description: 'The last UTC day of the range.' }),
    groupBy: Type.Array(Group),
    currency: Currency,
    rows: Type.Array(
      Type.Object(
        {
          day: Type.Optional(Type.String({ description: 'The UTC day on which the tasks ended.' })),
          model: Type.Optional(Type.String()),
          upstream: Type.Optional(Type.String({ description: 'Its `id`, or its protocol and host.' })),
          account: Type.Optional(Type.String({ description: 'The ID of the account.' })),
          ...SUMS,
        },
        { additionalProperties: false },
      ),
      { maxItems: MAX_USAGE_ROWS, description: 'Rows in the order of day, model, upstream and account.' },
    ),
    total: Type.Object(SUMS, { additionalProperties: false }),
  },
  { additionalProperties: false },
);

export type WireMargins = Static<typeof MarginsSchema>;
