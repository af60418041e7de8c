/** How the price of a task is calculated (contract §7 "Money"), as model files and the catalogue say it. */
import { Type } from 'typebox';

/** A unit may cost less than a micro: only the sum is rounded. */
export const UNIT_PRICE = '^[0-9]{1,9}(\\.[0-9]{1,12})?$';

/** An amount in whole micros. */
const STEP = '^[0-9]{1,6}(\\.[0-9]{1,6})?$';

/** What the lines of batches cost, as a part of the price. Above 0: the proofs of prices check that. */
export const BatchFactor = Type.String({
  pattern: '^(?:0\\.[0-9]{1,6}|1(?:\\.0{1,6})?)$',
  description:
    'A factor of the price of the lines of batches: above 0, at most 1. Absent: they cost as much as other requests.',
});

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

/** The units that are counted by what the provider reports, and not by the input or the files. */
export const USAGE_UNITS = ['token', 'credit', 'input_second'] as const;

const UNITS = ['image', 'second', 'character', 'task', ...USAGE_UNITS] as const;

/** A quantity of tokens, credits or seconds. */
const UsageQuantity = (description: string) => Type.Integer({ minimum: 1, maximum: 1_000_000_000, description });

/**
 * How a price is calculated (contract §7 "Money"): the price of a unit, times the quantity, times every factor that
 * applies; at least `minimum`, and rounded up.
 */
export const PricingSchema = Type.Object(
  {
    unit: Type.Unsafe<(typeof UNITS)[number]>({
      type: 'string',
      enum: [...UNITS],
      description:
        'The unit that is counted: images, seconds of video or audio, characters of a text, or nothing (a flat price). `token`, `credit` and `input_second` (a second of the audio and video in the input) count what the work used, and `hold` is the most that a task can be charged for.',
    }),
    usd: Type.String({
      pattern: UNIT_PRICE,
      description: 'The price of one unit in decimal USD, unless `by` has another price.',
    }),
    by: Type.Optional(
      Type.Object(
        {
          field: Type.Optional(FieldName),
          fields: Type.Optional(
            Type.Array(FieldName, {
              minItems: 2,
              maxItems: 2,
              uniqueItems: true,
              description: 'Two fields instead of `field`. The keys of `usd` are both values: `"high/1024x1024"`.',
            }),
          ),
          default: Type.Optional(
            Type.Array(Type.String(), {
              minItems: 2,
              maxItems: 2,
              description: 'The values of `fields` that apply if they are absent.',
            }),
          ),
          usd: Type.Record(Type.String(), Type.String({ pattern: UNIT_PRICE })),
        },
        {
          additionalProperties: false,
          description: 'The price of one unit in decimal USD, by the value of one field, or by those of two.',
        },
      ),
    ),
    hold: Type.Optional(
      Type.Object(
        {
          quantity: Type.Optional(UsageQuantity('The quantity itself.')),
          field: Type.Optional(FieldName),
          default: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 1_000_000_000,
              description: 'The value that applies if the field is absent.',
            }),
          ),
        },
        {
          additionalProperties: false,
          description:
            'The most tokens, credits or seconds of one output: a number, or a field with it. It is multiplied by `count` and `duration`, and it is what is held.',
        },
      ),
    ),
    unreported: Type.Optional(
      UsageQuantity(
        'The tokens, credits or seconds of one output that are charged if the provider reports no usage. Absent: those that were held.',
      ),
    ),
    minimum: Type.Optional(
      Type.String({ pattern: STEP, description: 'The lowest price of a task with outputs, in decimal USD.' }),
    ),
    rounding: Type.Optional(
      Type.Object(
        {
          mode: Type.Literal('up'),
          step: Type.String({ pattern: STEP, description: 'Decimal USD, above 0.' }),
        },
        {
          additionalProperties: false,
          description: 'The price of a task is rounded up to a multiple of `step`. Absent: to a millionth of a USD.',
        },
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
    batchFactor: Type.Optional(BatchFactor),
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
