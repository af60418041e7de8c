/** How the price of a task is calculated (contract §7 "Money"), as model files and the catalogue say it. */
import { Type } from 'typebox';

/** A unit may cost less than a micro: only the sum is rounded. */
const UNIT_PRICE = '^[0-9]{1,9}(\\.[0-9]{1,12})?$';

const FieldName = Type.String({ minLength: 1, maxLength: 100, description: 'A field of the input.' });

const Value = Type.Unsafe<string | boolean | number>({ type: ['string', 'boolean', 'integer'] });

/** A field whose number multiplies a price; `default` applies if the input has no such field. */
const quantityField = (description: string) =>
  Type.Object(
    {
      field: FieldName,
      default: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'The value that applies if the field is absent.' }),
      ),
    },
    { additionalProperties: false, description },
  );

/** What a cancelled task costs if its provider had finished its work: see `lateCancel`. */
export const LATE_CANCELS = ['billed', 'full', 'free'] as const;

export type LateCancel = (typeof LATE_CANCELS)[number];

/**
 * How a price is calculated (contract §7 "Money"): the price of a unit, times the quantity, times every factor that
 * applies.
 */
export const PricingSchema = Type.Object(
  {
    unit: Type.Unsafe<'image' | 'second' | 'character' | 'task'>({
      type: 'string',
      enum: ['image', 'second', 'character', 'task'],
      description:
        'The unit that is counted: images, seconds of video or audio, characters of a text, or nothing (a flat price).',
    }),
    usd: Type.String({
      pattern: UNIT_PRICE,
      description: 'The price of one unit in decimal USD, unless `by` has another price.',
    }),
    by: Type.Optional(
      Type.Object(
        { field: FieldName, usd: Type.Record(Type.String(), Type.String({ pattern: UNIT_PRICE })) },
        { additionalProperties: false, description: 'The price of one unit in decimal USD, by the value of a field.' },
      ),
    ),
    count: Type.Optional(quantityField('The field with the number of outputs. Absent: one output.')),
    duration: Type.Optional(
      quantityField('The field with the number of seconds: an integer, or a string such as `"6"`.'),
    ),
    text: Type.Optional(
      Type.Object(
        { field: FieldName },
        {
          additionalProperties: false,
          description: 'The field with the text whose characters (Unicode code points) are counted.',
        },
      ),
    ),
    factors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: FieldName,
            value: Value,
            factor: Type.String({ pattern: '^[0-9]{1,3}(\\.[0-9]{1,6})?$', description: 'A decimal number.' }),
            default: Type.Optional(Value),
          },
          { additionalProperties: false },
        ),
        {
          maxItems: 20,
          description:
            'Factors of the price. A factor applies if `field`, or `default` if the field is absent, equals `value`. All factors that apply are multiplied.',
        },
      ),
    ),
    lateCancel: Type.Optional(
      Type.Unsafe<LateCancel>({
        type: 'string',
        enum: [...LATE_CANCELS],
        description:
          'The cost of a task that is cancelled while it is `handling` although its provider had finished: the amount that the provider reports as billed (`billed`, the default), the price of the files that it generated, each as requested (`full`), or nothing (`free`). It never exceeds the held amount.',
      }),
    ),
  },
  { additionalProperties: false },
);
