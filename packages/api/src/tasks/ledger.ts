/**
 * The ledger as its account sees it (contract §7 `GET /account/ledger`). An entry is identified by its kind and its
 * reference, which are unique together; a cursor names the last entry of a page, and contains nothing internal.
 */
import { Type } from 'typebox';
import type { LedgerKind } from '../facts/ledger-kinds.ts';
import { LEDGER_KINDS } from '../facts/ledger-kinds.ts';
import { Currency, UnixSeconds, pageQuery, usd } from './fields.ts';
import type { Static } from 'typebox';

const Kind = Type.Unsafe<LedgerKind>({ type: 'string', enum: [...LEDGER_KINDS] });

/** PostgreSQL cannot store U+0000. */
const Reference = Type.String({ minLength: 1, maxLength: 300, pattern: '^[^\\u0000]*$' });

/** Late enough for all purposes, and a time that PostgreSQL supports. */
const LAST_SECOND = 253_402_300_799;

export const LedgerQuerySchema = Type.Object(
  {
    ...pageQuery('entries', 2_000),
    kind: Type.Optional(
      Type.Array(Kind, {
        minItems: 1,
        maxItems: 10,
        description: 'Only entries of any of these kinds. Repeat the parameter or separate values by commas.',
      }),
    ),
    from: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LAST_SECOND,
        description: 'Only entries booked at or after this time, in Unix seconds.',
      }),
    ),
    to: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LAST_SECOND,
        description: 'Only entries booked before this time, in Unix seconds.',
      }),
    ),
    keyId: Type.Optional(
      Type.String({ pattern: '^[0-9A-Za-z]{1,64}$', description: 'Only entries for requests of this key.' }),
    ),
    reference: Type.Optional(
      Type.Unsafe<string>({
        ...Reference,
        description: 'Only entries with this reference: a task, a payment or a day of storage.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const LedgerEntrySchema = Type.Object(
  {
    id: Type.String({ description: 'The unique id of the entry: `<kind>:<reference>`.' }),
    at: UnixSeconds,
    kind: Kind,
    reference: Type.String({
      description: 'What the entry is for: a task, a response, a payment, or `storage:<account>:<day>`.',
    }),
    amount: usd('The amount. Negative only for an adjustment that decreases the balance.'),
    availableChange: usd('The change of `available`.'),
    balanceChange: usd('The change of `balance`. Zero for a hold and a release.'),
    currency: Currency,
    keyId: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The key that made the request.',
    }),
    model: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    isEstimated: Type.Optional(
      Type.Literal(true, {
        description: 'The tokens were counted by this service, because the upstream did not report them.',
      }),
    ),
    available: usd('The available balance after the entry.'),
    balance: usd('The balance after the entry: available and held together.'),
  },
  { additionalProperties: false },
);

export const LedgerSchema = Type.Object(
  {
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    entries: Type.Array(LedgerEntrySchema, { maxItems: 100, description: 'The entries, newest first.' }),
    nextCursor: Type.Optional(
      Type.String({ description: 'Pass it as `cursor` to get the next page. Absent on the last page.' }),
    ),
  },
  { additionalProperties: false },
);

export type WireLedger = Static<typeof LedgerSchema>;
