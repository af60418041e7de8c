-- Up Migration (no transaction)

-- The wallet that an entry moves, where it is not the account's own. The succession of a wallet's entries is that of the
-- entries of its account without a wallet, and of those that name it.
ALTER TABLE ledger_entries ADD COLUMN IF NOT EXISTS wallet_id text;
CREATE INDEX CONCURRENTLY IF NOT EXISTS ledger_entries_by_shared_wallet ON ledger_entries (wallet_id, id)
  WHERE wallet_id IS NOT NULL;
