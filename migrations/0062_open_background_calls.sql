-- Up Migration (no transaction)

-- The queue of each account and what is running of it (src/text/background/queue.ts).
CREATE INDEX CONCURRENTLY IF NOT EXISTS background_calls_open
  ON background_calls (account_id, is_admitted, created_at, line) WHERE ended_at IS NULL;
