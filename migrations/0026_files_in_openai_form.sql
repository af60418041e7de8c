-- Up Migration (no transaction)

-- Files whose client sent a purpose have the form of OpenAI's API (src/objects/openai-files.ts): `purpose` and the
-- `filename` that the client gave. Null: a file in our form.
ALTER TABLE files ADD COLUMN IF NOT EXISTS purpose text, ADD COLUMN IF NOT EXISTS filename text;

CREATE INDEX CONCURRENTLY IF NOT EXISTS files_listed ON files (account_id, created_at, id)
  WHERE purpose IS NOT NULL AND gone_at IS NULL;
