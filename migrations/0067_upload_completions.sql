-- Up Migration (no transaction)

-- One completion of an upload at a time (src/objects/multipart-uploads.ts): `completing_until` is the end of its lease,
-- during which the bytes that it writes count against the account. `hashed_md5` is the hash of the parts whose ids, in
-- their order, have the SHA-256 `hashed_parts`, so that a wrong md5 is compared and not computed again.
ALTER TABLE uploads
  ADD COLUMN IF NOT EXISTS completing_until timestamptz,
  ADD COLUMN IF NOT EXISTS hashed_parts text,
  ADD COLUMN IF NOT EXISTS hashed_md5 text,
  ADD COLUMN IF NOT EXISTS hashings integer NOT NULL DEFAULT 0;

CREATE INDEX CONCURRENTLY IF NOT EXISTS uploads_completing ON uploads (account_id) WHERE completing_until IS NOT NULL;
