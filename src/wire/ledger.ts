/**
 * The ledger as its account sees it (contract §7 `GET /account/ledger`). An entry is identified by its kind and its
 * reference, which are unique together; a cursor names the last entry of a page, and contains nothing internal.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { LEDGER_KINDS, effectOf } from '../billing/ledger-list.ts';
import type { LedgerEntry, LedgerKind } from '../billing/ledger-list.ts';
import { formatUsd } from '../domain/money.ts';
import { Currency, UnixSeconds, secondsOf, usd } from './fields.ts';

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
        description: 'Its tokens were counted here, because whoever answered did not report them.',
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

export function presentLedger(size: number, entries: readonly LedgerEntry[], hasMore: boolean): WireLedger {
  const last = entries.at(-1);
  return {
    size,
    entries: entries.map(presentEntry),
    ...(hasMore && last !== undefined ? { nextCursor: cursorOf(last) } : {}),
  };
}

function presentEntry(entry: LedgerEntry): Static<typeof LedgerEntrySchema> {
  const effect = effectOf(entry);
  return {
    id: `${entry.kind}:${entry.reference}`,
    at: secondsOf(entry.createdAt),
    kind: entry.kind,
    reference: entry.reference,
    amount: formatUsd(entry.amountMicroUsd),
    availableChange: formatUsd(effect.availableMicroUsd),
    balanceChange: formatUsd(effect.balanceMicroUsd),
    currency: 'USD',
    keyId: entry.keyId,
    model: entry.model,
    ...(entry.isEstimated ? { isEstimated: true as const } : {}),
    available: formatUsd(entry.availableAfterMicroUsd),
    balance: formatUsd(entry.availableAfterMicroUsd + entry.heldAfterMicroUsd),
  };
}

function cursorOf({ kind, reference }: LedgerEntry): string {
  return Buffer.from(`${kind}:${reference}`).toString('base64url');
}

/** @returns undefined where the text is not a cursor of ours. */
export function readLedgerCursor(cursor: string): Pick<LedgerEntry, 'kind' | 'reference'> | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const colon = text.indexOf(':');
  const kind = LEDGER_KINDS.find((each) => each === text.slice(0, colon));
  const reference = text.slice(colon + 1);
  // Another encoding of the same bytes was not made here.
  const isOurs = Buffer.from(text).toString('base64url') === cursor && !text.includes('\0');
  return kind === undefined || reference === '' || !isOurs ? undefined : { kind, reference };
}
