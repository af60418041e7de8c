-- Up Migration

-- What operators have set for providers, by the name of the provider or of a credential (src/accounts/stored-upstream-settings.ts):
-- the credential, encrypted, and the URL that replaces the one in the provider's file.
CREATE TABLE upstream_settings (
  name text PRIMARY KEY,
  secret_ciphertext bytea,
  base_url text,
  updated_at timestamptz NOT NULL,
  CHECK (secret_ciphertext IS NOT NULL OR base_url IS NOT NULL)
);
