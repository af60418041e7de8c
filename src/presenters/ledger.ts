/**
 * The ledger as its account sees it (contract §7 `GET /account/ledger`). An entry is identified by its kind and its
 * reference, which are unique together; a cursor names the last entry of a page, and contains nothing internal.
 */
import type { LedgerEntrySchema, WireLedger } from '@darkroom/api/tasks/ledger';
import type { Static } from 'typebox';
import { LEDGER_KINDS } from '@darkroom/api/facts/ledger-kinds';
import { effectOf } from '../billing/ledger-list.ts';
import type { LedgerEntry } from '../billing/ledger-list.ts';
import { formatUsd, parseUsd } from '../domain/money.ts';
import { secondsOf } from './unix-seconds.ts';

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

/** @returns undefined if the string is not a cursor of ours. */
export function readLedgerCursor(cursor: string): Pick<LedgerEntry, 'kind' | 'reference'> | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  const colon = text.indexOf(':');
  const kind = LEDGER_KINDS.find((each) => each === text.slice(0, colon));
  const reference = text.slice(colon + 1);
  // Another encoding of the same bytes was not made here.
  const isOurs = Buffer.from(text).toString('base64url') === cursor && !text.includes('\0');
  return kind === undefined || reference === '' || !isOurs ? undefined : { kind, reference };
}

/** An amount that an operator books. @returns micro-USD with its sign; undefined if the string is not an amount. */
export function parseSignedUsd(text: string): bigint | undefined {
  if (!text.startsWith('-')) return parseUsd(text);
  const amount = parseUsd(text.slice(1));
  return amount === undefined ? undefined : -amount;
}
