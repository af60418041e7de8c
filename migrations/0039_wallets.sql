-- Up Migration (no transaction)

-- The wallet that an account draws on: the row of counters that has its money. Null: its own row, as for every account
-- that shares no wallet. A row that draws on another one never has money of its own, whichever release writes it: there
-- it would be out of sight.
ALTER TABLE account_counters ADD COLUMN IF NOT EXISTS wallet_id text;
CREATE INDEX CONCURRENTLY IF NOT EXISTS account_counters_of_wallet ON account_counters (wallet_id)
  WHERE wallet_id IS NOT NULL;
ALTER TABLE account_counters DROP CONSTRAINT IF EXISTS account_counters_wallet_id_fkey;
ALTER TABLE account_counters ADD CONSTRAINT account_counters_wallet_id_fkey
  FOREIGN KEY (wallet_id) REFERENCES account_counters (account_id) NOT VALID;
ALTER TABLE account_counters VALIDATE CONSTRAINT account_counters_wallet_id_fkey;
ALTER TABLE account_counters DROP CONSTRAINT IF EXISTS account_counters_wallet_id_check;
ALTER TABLE account_counters ADD CONSTRAINT account_counters_wallet_id_check
  CHECK (wallet_id IS NULL OR (wallet_id <> account_id AND available_micro_usd = 0 AND held_micro_usd = 0)) NOT VALID;
ALTER TABLE account_counters VALIDATE CONSTRAINT account_counters_wallet_id_check;
