/**
 * The ledger of one account as it reads it: newest first, a page at a time, each entry with what was available and
 * held after it (contract §7 `GET /account/ledger`). Entries of an account follow one another in the order of their
 * ids (`ledger.ts`), so that a page begins where the previous one ended, whatever is booked in the meantime.
 */
import type { Queryable, Statement } from '../database/database.ts';
import { LEDGER_KINDS } from '@darkroom/api/facts/ledger-kinds';
import type { LedgerKind } from '@darkroom/api/facts/ledger-kinds';
import { DarkroomError, UNKNOWN_CURSOR } from '../domain/darkroom-error.ts';

export interface LedgerEntry {
  readonly kind: LedgerKind;
  /** A task, a response, a payment, `storage:<account>:<day>`: unique among the entries of a kind. */
  readonly reference: string;
  readonly createdAt: Date;
  /** Negative only for an adjustment that takes something. */
  readonly amountMicroUsd: bigint;
  readonly keyId: string | null;
  readonly model: string | null;
  /** The tokens of a text call were counted here, and not reported by the upstream. */
  readonly isEstimated: boolean;
  readonly availableAfterMicroUsd: bigint;
  readonly heldAfterMicroUsd: bigint;
}

/** The filters of a ledger query; an absent one does not filter. Times in milliseconds since 1970. */
export interface LedgerQuery {
  readonly size: number;
  /** The last entry of the page before. */
  readonly after?: Pick<LedgerEntry, 'kind' | 'reference'> | undefined;
  readonly kinds?: readonly LedgerKind[] | undefined;
  /** Booked then or later. */
  readonly from?: number | undefined;
  /** Booked before. */
  readonly to?: number | undefined;
  readonly keyId?: string | undefined;
  readonly reference?: string | undefined;
}

/** The page should begin after an entry that the account does not have. */
export class UnknownLedgerEntryError extends DarkroomError {
  override readonly name = 'UnknownLedgerEntryError';
  override readonly kind = 'invalid_request';
  override readonly param = 'cursor';

  constructor() {
    super(UNKNOWN_CURSOR);
  }

  override get publicMessage(): string {
    return `invalid request: ${this.param}: ${this.message}`;
  }
}

/** Only a capture of a text call has a row there: some of a page's entries, each found by its key. */
const ESTIMATED = `CASE WHEN kind = 'capture'
                        THEN coalesce((SELECT t.is_estimated FROM text_calls t WHERE t.id = reference),
                                      (SELECT true FROM pruned_estimated_calls p WHERE p.id = reference), false)
                        ELSE false END`;
const COLUMNS = `kind, reference, created_at AS "createdAt", amount_micro_usd AS "amountMicroUsd", key_id AS "keyId", model,
                 ${ESTIMATED} AS "isEstimated", available_after_micro_usd AS "availableAfterMicroUsd", held_after_micro_usd AS "heldAfterMicroUsd"`;

/** The position is compared unconditionally, so that every plan begins there and reads nothing that is newer. */
const FILTERS = `account_id = $1 AND id < coalesce($2::bigint, 9223372036854775807) AND ($3::text[] IS NULL OR kind = ANY ($3))
            AND ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at < $5)
            AND ($6::text IS NULL OR key_id = $6)`;

const selectEntries: Statement = {
  name: 'select_ledger_entries',
  text: `SELECT ${COLUMNS} FROM ledger_entries WHERE ${FILTERS} ORDER BY id DESC LIMIT $7`,
};

/** There are only a handful of these: the unique index finds them, and they are sorted after that. */
const selectByReference: Statement = {
  name: 'select_ledger_entries_by_reference',
  text: `WITH found AS MATERIALIZED (
           SELECT * FROM ledger_entries
            WHERE kind = ANY ('{${LEDGER_KINDS.join(',')}}'::text[]) AND reference = $8)
         SELECT ${COLUMNS} FROM found WHERE ${FILTERS} ORDER BY id DESC LIMIT $7`,
};

const selectEntryId: Statement = {
  name: 'select_ledger_place',
  text: 'SELECT id FROM ledger_entries WHERE account_id = $1 AND kind = $2 AND reference = $3',
};

/**
 * @returns at most `size` entries, newest first, and whether there are more.
 * @throws {UnknownLedgerEntryError}
 */
export async function listLedger(
  database: Queryable,
  accountId: string,
  query: LedgerQuery,
): Promise<{ readonly entries: readonly LedgerEntry[]; readonly hasMore: boolean }> {
  const { size, after, kinds, from, to, keyId, reference } = query;
  let afterId: bigint | null = null;
  if (after !== undefined) {
    const [row] = await database.query<{ id: bigint }>(selectEntryId, [accountId, after.kind, after.reference]);
    if (row === undefined) throw new UnknownLedgerEntryError();
    afterId = row.id;
  }
  const values = [
    accountId,
    afterId,
    kinds ?? null,
    from === undefined ? null : new Date(from),
    to === undefined ? null : new Date(to),
    keyId ?? null,
    size + 1,
  ];
  const rows = await (reference === undefined
    ? database.query<LedgerEntry>(selectEntries, values)
    : database.query<LedgerEntry>(selectByReference, [...values, reference]));
  return { entries: rows.slice(0, size), hasMore: rows.length > size };
}

/**
 * What an entry changes, in micro-USD: of what is available, and of the balance, which is available and held
 * together.
 */
export function effectOf(entry: Pick<LedgerEntry, 'kind' | 'amountMicroUsd'>): {
  readonly availableMicroUsd: bigint;
  readonly balanceMicroUsd: bigint;
} {
  const { kind, amountMicroUsd: amount } = entry;
  switch (kind) {
    case 'topup':
    case 'adjustment':
      return { availableMicroUsd: amount, balanceMicroUsd: amount };
    case 'hold':
      return { availableMicroUsd: -amount, balanceMicroUsd: 0n };
    case 'capture':
      return { availableMicroUsd: 0n, balanceMicroUsd: -amount };
    case 'release':
      return { availableMicroUsd: amount, balanceMicroUsd: 0n };
  }
}
