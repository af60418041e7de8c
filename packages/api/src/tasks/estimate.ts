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
    estimatedCost: UsdOrNull(
      'What the task is expected to cost, in USD; null where the errors make a price impossible.',
    ),
    maxCost: UsdOrNull('The worst case, which a create holds.'),
    currency: Type.Literal('USD'),
    breakdown: Type.Array(
      Type.Object(
        {
          unit: Type.String({ description: 'What is counted: `image`, `second`, `character` or `task`.' }),
          quantity: Type.Unsafe<string>({ ...DecimalNumber, description: 'How many of them at most.' }),
          unitPrice: Type.Unsafe<string>({ ...DecimalNumber, description: 'USD for one.' }),
          factors: Type.Array(
            Type.Object(
              {
                field: Type.String(),
                value: Type.Unsafe<string | boolean | number>({ type: ['string', 'boolean', 'integer'] }),
                factor: DecimalNumber,
              },
              { additionalProperties: false },
            ),
            { maxItems: 20, description: 'Multiply the price because a field of the input has that value.' },
          ),
          amount: Type.Unsafe<string>({ ...Usd, description: 'Their product, rounded up to the micro.' }),
        },
        { additionalProperties: false },
      ),
      { maxItems: 1, description: 'How `maxCost` comes about.' },
    ),
    model: TextOrNull('The resolved full name; null where no model is named.'),
    route: TextOrNull('The route that would be used; null where it is wrong.'),
    balanceSufficient: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether the available balance and the spend caps of the key cover `maxCost` now.',
    }),
    errors: Type.Array(Type.String(), {
      maxItems: 300,
      description: 'Every problem for which a create would be rejected with 400; empty if there is none.',
    }),
    violations: Type.Array(ViolationSchema, { maxItems: 300, description: 'The same for programs, in that order.' }),
  },
  { additionalProperties: false },
);

export type WireEstimate = Static<typeof EstimateSchema>;
