/**
 * The response of `POST /tasks/estimate` (contract §4): money as decimal USD, null where an error makes a price
 * impossible.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ViolationSchema } from './violation.ts';

const Usd = Type.String({ pattern: '^[0-9]+(\\.[0-9]{1,6})?$' });

const UsdOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], pattern: '^[0-9]+(\\.[0-9]{1,6})?$', description });

const TextOrNull = (description: string) => Type.Unsafe<string | null>({ type: ['string', 'null'], description });

const DecimalNumber = Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$' });

export const EstimateSchema = Type.Object(
  {
    maxCost: UsdOrNull(
      'The most that the task can cost, in USD, which is held when it is created. Null if errors prevent the price from being calculated.',
    ),
    currency: Type.Literal('USD'),
    breakdown: Type.Array(
      Type.Object(
        {
          unit: Type.String({
            description: 'The unit that is counted: `image`, `second`, `character`, `task`, `token` or `credit`.',
          }),
          quantity: Type.Unsafe<string>({ ...DecimalNumber, description: 'The maximum number of units.' }),
          unitPrice: Type.Unsafe<string>({ ...DecimalNumber, description: 'The price of one unit, in USD.' }),
          factors: Type.Array(
            Type.Object(
              {
                field: Type.String(),
                value: Type.Unsafe<string | boolean | number>({ type: ['string', 'boolean', 'integer'] }),
                factor: DecimalNumber,
              },
              { additionalProperties: false },
            ),
            {
              maxItems: 20,
              description:
                'Factors that apply because a field of the input has the given value. Each multiplies the price.',
            },
          ),
          amount: Type.Unsafe<string>({
            ...Usd,
            description:
              'The product of quantity, unit price and factors, rounded up to a millionth of a USD; at least the `minimum` of the price and rounded to its `rounding`, where it has them.',
          }),
        },
        { additionalProperties: false },
      ),
      { maxItems: 1, description: 'How `maxCost` is calculated.' },
    ),
    model: TextOrNull('The full name of the resolved model. Null if the request names no model.'),
    route: TextOrNull('The route that would be used. Null if the route is invalid.'),
    balanceSufficient: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether the available balance and the spend caps of the key currently cover `maxCost`.',
    }),
    errors: Type.Array(Type.String(), {
      maxItems: 300,
      description: 'All validation errors for which creating the task would return 400. Empty if there are none.',
    }),
    violations: Type.Array(ViolationSchema, {
      maxItems: 300,
      description: 'The same errors for programs, in the same order.',
    }),
  },
  { additionalProperties: false },
);

export type WireEstimate = Static<typeof EstimateSchema>;
