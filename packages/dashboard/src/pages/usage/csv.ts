/**
 * Ledger entries as lines of CSV. Amounts stay the API's decimal strings.
 */
import { BYTE_ORDER_MARK, csvLineOf } from '@darkroom/api/facts/csv';
import type { LedgerEntry } from '../../api/usage.ts';
import { texts } from '../../texts/usage.ts';

export function csvHead(): string {
  return BYTE_ORDER_MARK + csvLineOf(texts.csv.columns);
}

export function csvLine(entry: LedgerEntry): string {
  return csvLineOf([
    new Date(entry.at * 1000).toISOString().replace('.000Z', 'Z'),
    entry.kind,
    entry.reference,
    entry.amount,
    entry.availableChange,
    entry.balanceChange,
    entry.currency,
    entry.keyId ?? '',
    entry.model ?? '',
    entry.isEstimated === true ? 'true' : 'false',
    entry.available,
    entry.balance,
  ]);
}
