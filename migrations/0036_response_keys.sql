-- Up Migration

-- The requests for responses in the background that had an Idempotency-Key (src/text/background/response-keys.ts):
-- `response_id` follows from the key. Kept for good, so that a key never pays for a second response.
CREATE TABLE response_keys (
  response_id text PRIMARY KEY,
  account_id text NOT NULL,
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
