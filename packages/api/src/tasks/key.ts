/**
 * API keys as they are requested and shown (contract §7). A key's text is shown once, in the response that creates
 * it.
 */
import { Type } from 'typebox';
import type { Scope } from '../facts/scopes.ts';
import { SCOPES } from '../facts/scopes.ts';
import { UnixSeconds, unixSecondsOrZero, usd, usdInput } from './fields.ts';
import type { Static } from 'typebox';
import { MAX_LISTED_KEYS, ROTATION_OVERLAP_SECONDS } from '../facts/limits.ts';

/** The last second of the year 9999: later times cannot be shown as a date everywhere. */
const LAST_SECOND = 253_402_300_799;

/** One line that can be stored: no control characters, no other line breaks, no unpaired surrogates. */
export const ONE_LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ud800-\\udfff]*$';

const ScopeName = Type.Unsafe<Scope>({ type: 'string', enum: [...SCOPES] });

export const CreateKeySchema = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: ONE_LINE,
      description: 'The name of the key, in one line.',
    }),
    scopes: Type.Array(ScopeName, {
      minItems: 1,
      maxItems: SCOPES.length,
      uniqueItems: true,
      description: 'The scopes of the key. It cannot have a scope that the key that creates it does not have.',
    }),
    models: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description:
          'The models that the key may use, by their names without a route. Each includes all of its routes. If omitted, the key may use every model.',
      }),
    ),
    expiresAt: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LAST_SECOND,
        description:
          'The expiry time in Unix seconds, which must be in the future. If omitted or 0, the key does not expire.',
      }),
    ),
    spendCaps: Type.Optional(
      Type.Object(
        {
          day: Type.Optional(usdInput('The cap per UTC day, in decimal USD.')),
          total: Type.Optional(usdInput('The cap for the lifetime of the key, in decimal USD.')),
        },
        {
          additionalProperties: false,
          minProperties: 1,
          description:
            'Limits for the spending of this key and of every key created with it or rotated from it. Amounts held for running tasks count.',
        },
      ),
    ),
  },
  { additionalProperties: false },
);

export type CreateKeyBody = Static<typeof CreateKeySchema>;

export const RotateKeySchema = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: ROTATION_OVERLAP_SECONDS.maximum,
        description: `How long the old key continues to work alongside the new one. Default ${ROTATION_OVERLAP_SECONDS.default}. With 0, it stops working immediately.`,
      }),
    ),
  },
  { additionalProperties: false },
);

const AmountOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], pattern: '^[0-9]+(\\.[0-9]{1,6})?$', description });

const fields = {
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(ScopeName),
  models: Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'The models that the key may use. Null: every model.',
  }),
  expiresAt: unixSecondsOrZero('the key does not expire.'),
  spendCaps: Type.Unsafe<{ readonly day: string | null; readonly total: string | null } | null>({
    ...Type.Object(
      { day: AmountOrNull('Decimal USD. Null: no cap.'), total: AmountOrNull('Decimal USD. Null: no cap.') },
      { additionalProperties: false },
    ),
    type: ['object', 'null'],
    description: 'The spend caps of the key itself. A key that replaces another has the caps of the key it replaces.',
  }),
  spent: Type.Unsafe<{ readonly day: string; readonly total: string } | null>({
    ...Type.Object(
      { day: usd('Spent on the current UTC day, in decimal USD.'), total: usd('Spent in total, in decimal USD.') },
      { additionalProperties: false },
    ),
    type: ['object', 'null'],
    description: 'The amounts that count against the caps of the key itself. Null if it has none.',
  }),
  cappedBy: Type.Array(Type.String(), {
    description:
      'The ids of all keys whose caps the spending counts against: the key itself and the keys it was created with.',
  }),
  created: UnixSeconds,
  lastUsed: unixSecondsOrZero('not used yet. Accurate to about a minute.'),
  revoked: unixSecondsOrZero('not revoked.'),
  replacedBy: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The id of the key that replaced this one. This key works until `expiresAt`.',
  }),
};

export const KeySchema = Type.Object(fields, { additionalProperties: false });

export const CreatedKeySchema = Type.Object(
  { ...fields, key: Type.String({ description: 'The key itself. It is not shown again.' }) },
  { additionalProperties: false },
);

export const KeyListSchema = Type.Object(
  {
    keys: Type.Array(KeySchema, {
      maxItems: MAX_LISTED_KEYS,
      description: `The keys, oldest first. If there are more than ${MAX_LISTED_KEYS}, keys that were revoked long ago are omitted.`,
    }),
  },
  { additionalProperties: false },
);

export type WireKey = Static<typeof KeySchema>;
