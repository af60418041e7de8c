-- Up Migration (no transaction)

-- Files that are sent in parts (src/objects/multipart-uploads.ts). `size_bytes` is what the parts must come to;
-- `kept_seconds` is how long the finished file is kept, and `file_id` which one it is. Rows are deleted a day after
-- they have expired.
CREATE TABLE IF NOT EXISTS uploads (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  filename text NOT NULL,
  purpose text NOT NULL,
  size_bytes bigint NOT NULL CHECK (size_bytes > 0),
  kept_seconds integer NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'completed', 'cancelled')),
  file_id text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK ((status = 'completed') = (file_id IS NOT NULL))
);
CREATE INDEX IF NOT EXISTS uploads_by_expiry ON uploads (expires_at);

-- A part is a file of its own until its upload is completed: it counts, expires and is deleted like one.
ALTER TABLE files ADD COLUMN IF NOT EXISTS upload_id text;
CREATE INDEX CONCURRENTLY IF NOT EXISTS files_of_upload ON files (upload_id)
  WHERE upload_id IS NOT NULL AND gone_at IS NULL;
