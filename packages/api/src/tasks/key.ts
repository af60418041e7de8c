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
    name: Type.String({ minLength: 1, maxLength: 100, pattern: ONE_LINE, description: 'What you call it; one line.' }),
    scopes: Type.Array(ScopeName, {
      minItems: 1,
      maxItems: SCOPES.length,
      uniqueItems: true,
      description: 'What may be done with it: at most what may be done with the key that makes it.',
    }),
    models: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description:
          'Models that it may use, by their names without a route; each includes all of its routes. Absent: every model.',
      }),
    ),
    expiresAt: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LAST_SECOND,
        description: 'Unix seconds, in the future; absent or 0: it does not expire.',
      }),
    ),
    spendCaps: Type.Optional(
      Type.Object(
        {
          day: Type.Optional(usdInput('Decimal USD per UTC day.')),
          total: Type.Optional(usdInput('Decimal USD altogether.')),
        },
        {
          additionalProperties: false,
          minProperties: 1,
          description:
            'What may be spent with this key and with every key made or rotated from it. What is held for running tasks counts.',
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
        description: `How long the old key works beside the new one; default ${ROTATION_OVERLAP_SECONDS.default}. 0: it stops at once.`,
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
    description: 'null: every model.',
  }),
  expiresAt: unixSecondsOrZero('it does not expire.'),
  spendCaps: Type.Unsafe<{ readonly day: string | null; readonly total: string | null } | null>({
    ...Type.Object(
      { day: AmountOrNull('Decimal USD; null: no such cap.'), total: AmountOrNull('Decimal USD; null: no such cap.') },
      { additionalProperties: false },
    ),
    type: ['object', 'null'],
    description: 'Its own caps; a key that replaces another has those of that one.',
  }),
  spent: Type.Unsafe<{ readonly day: string; readonly total: string } | null>({
    ...Type.Object(
      { day: usd('Decimal USD, on the current UTC day.'), total: usd('Decimal USD.') },
      { additionalProperties: false },
    ),
    type: ['object', 'null'],
    description: 'What counts against its own caps by now; null where it has none.',
  }),
  cappedBy: Type.Array(Type.String(), {
    description:
      'Ids of all keys whose caps its spending counts against: its own, and those of the keys it was made with.',
  }),
  created: UnixSeconds,
  lastUsed: unixSecondsOrZero('not used yet. To the minute or so.'),
  revoked: unixSecondsOrZero('not revoked.'),
  replacedBy: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The id of the key that it was rotated to; it works until `expiresAt`.',
  }),
};

export const KeySchema = Type.Object(fields, { additionalProperties: false });

export const CreatedKeySchema = Type.Object(
  { ...fields, key: Type.String({ description: 'The key itself. It is shown here and never again.' }) },
  { additionalProperties: false },
);

export const KeyListSchema = Type.Object(
  {
    keys: Type.Array(KeySchema, {
      maxItems: MAX_LISTED_KEYS,
      description: `Oldest first. Of more than ${MAX_LISTED_KEYS} keys those that were revoked long ago are left out.`,
    }),
  },
  { additionalProperties: false },
);

export type WireKey = Static<typeof KeySchema>;
