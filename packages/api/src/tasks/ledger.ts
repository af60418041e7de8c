/**
 * The ledger as its account sees it (contract §7 `GET /account/ledger`). An entry is identified by its kind and its
 * reference, which are unique together; a cursor names the last entry of a page, and contains nothing internal.
 */
import { Type } from 'typebox';
import type { LedgerKind } from '../facts/ledger-kinds.ts';
import { LEDGER_KINDS } from '../facts/ledger-kinds.ts';
import { Currency, UnixSeconds, usd } from './fields.ts';
import type { Static } from 'typebox';

const Kind = Type.Unsafe<LedgerKind>({ type: 'string', enum: [...LEDGER_KINDS] });

/** PostgreSQL cannot store U+0000. */
const Reference = Type.String({ minLength: 1, maxLength: 300, pattern: '^[^\\u0000]*$' });

/** Late enough for all purposes, and a time that PostgreSQL supports. */
const LAST_SECOND = 253_402_300_799;

export const LedgerQuerySchema = Type.Object(
  {
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2_000, description: '`nextCursor` of the page before.' }),
    ),
    size: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, 'x-clamped': true, description: 'Entries on a page; default 20.' }),
    ),
    kind: Type.Optional(
      Type.Array(Kind, { minItems: 1, maxItems: 10, description: 'Repeated, or separated by commas: any of them.' }),
    ),
    from: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LAST_SECOND, description: 'Unix seconds: booked then or later.' }),
    ),
    to: Type.Optional(Type.Integer({ minimum: 0, maximum: LAST_SECOND, description: 'Unix seconds: booked before.' })),
    keyId: Type.Optional(
      Type.String({ pattern: '^[0-9A-Za-z]{1,64}$', description: 'Booked for requests of this key.' }),
    ),
    reference: Type.Optional(
      Type.Unsafe<string>({ ...Reference, description: 'Booked for this: a task, a payment, a day of storage.' }),
    ),
  },
  { additionalProperties: false },
);

export const LedgerEntrySchema = Type.Object(
  {
    id: Type.String({ description: 'Unique: `<kind>:<reference>`.' }),
    at: UnixSeconds,
    kind: Kind,
    reference: Type.String({
      description: 'What it is for: a task, a response, a payment, or `storage:<account>:<day>`.',
    }),
    amount: usd('Negative only for an adjustment that takes something.'),
    availableChange: usd('What it changed of `available`.'),
    balanceChange: usd('What it changed of `balance`: a hold and a release change nothing of it.'),
    currency: Currency,
    keyId: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'The key that the request was made with.',
    }),
    model: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    isEstimated: Type.Optional(
      Type.Literal(true, {
        description: 'Its tokens were counted here, because the upstream did not report them.',
      }),
    ),
    available: usd('What was available after it.'),
    balance: usd('The balance after it: available and held together.'),
  },
  { additionalProperties: false },
);

export const LedgerSchema = Type.Object(
  {
    size: Type.Integer({ minimum: 1, maximum: 100 }),
    entries: Type.Array(LedgerEntrySchema, { maxItems: 100, description: 'Newest first.' }),
    nextCursor: Type.Optional(Type.String({ description: 'Gives the next page; absent on the last one.' })),
  },
  { additionalProperties: false },
);

export type WireLedger = Static<typeof LedgerSchema>;
