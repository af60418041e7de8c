-- Up Migration

-- Short-lived tokens (src/accounts/tokens.ts): each acts as its key, with fewer rights, until it expires. `origins` are
-- those of the pages that may use it; null: it is not for pages. The cap of a capped one is in spend_caps under its id.
CREATE TABLE tokens (
  id text PRIMARY KEY,
  key_id text NOT NULL,
  account_id text NOT NULL,
  secret_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  models text[],
  origins text[],
  is_capped boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX tokens_by_account ON tokens (account_id, expires_at);
CREATE INDEX tokens_by_age ON tokens (expires_at) WHERE NOT is_capped;
CREATE INDEX tokens_capped_by_age ON tokens (expires_at) WHERE is_capped;

-- Which origins have a valid token: asked before a browser sends a request with one.
CREATE TABLE token_origins (
  origin text NOT NULL,
  expires_at timestamptz NOT NULL,
  token_id text NOT NULL,
  PRIMARY KEY (origin, expires_at, token_id)
);
CREATE INDEX token_origins_by_age ON token_origins (expires_at);

-- A cap is a key's or a token's.
ALTER TABLE spend_caps DROP CONSTRAINT spend_caps_id_fkey;
