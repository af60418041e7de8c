-- Up Migration (no transaction)

-- The account with which an account's organisation began; null: its own, so that every account has an organisation, and
-- those of one organisation are found by one id (docs/decisions/0014).
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS organisation_id text;
CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_of_organisation ON accounts (organisation_id)
  WHERE organisation_id IS NOT NULL;
ALTER TABLE accounts DROP CONSTRAINT IF EXISTS accounts_organisation_id_fkey;
ALTER TABLE accounts ADD CONSTRAINT accounts_organisation_id_fkey
  FOREIGN KEY (organisation_id) REFERENCES accounts (id) NOT VALID;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_organisation_id_fkey;
ALTER TABLE accounts DROP CONSTRAINT IF EXISTS accounts_organisation_id_check;
ALTER TABLE accounts ADD CONSTRAINT accounts_organisation_id_check CHECK (organisation_id <> id) NOT VALID;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_organisation_id_check;
