/** The kinds of ledger entries. */

export const LEDGER_KINDS = ['topup', 'adjustment', 'hold', 'capture', 'release'] as const;
export type LedgerKind = (typeof LEDGER_KINDS)[number];
