-- Up Migration

-- Sessions of the dashboard (src/accounts/sessions.ts): each has exactly the rights of its key, and goes with it.
CREATE TABLE dashboard_sessions (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
-- Signing out everywhere.
CREATE INDEX dashboard_sessions_of_key ON dashboard_sessions (key_id);
-- What is over is removed whenever one begins.
CREATE INDEX dashboard_sessions_by_end ON dashboard_sessions (expires_at);

-- Links that sign in once (src/accounts/sign-in-links.ts).
CREATE TABLE sign_in_links (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_by_end ON sign_in_links (expires_at);
