-- Up Migration (no transaction)

-- Files whose bytes are deleted, for as long as their rows stay (src/objects/prune-files.ts).
CREATE INDEX CONCURRENTLY IF NOT EXISTS files_to_prune ON files (bytes_deleted_at) WHERE bytes_deleted_at IS NOT NULL;
