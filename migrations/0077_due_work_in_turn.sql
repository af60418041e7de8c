-- Up Migration (no transaction)

CREATE INDEX CONCURRENTLY IF NOT EXISTS background_calls_due
  ON background_calls (due_at) WHERE ended_at IS NULL AND is_admitted;
CREATE INDEX CONCURRENTLY IF NOT EXISTS batches_due ON batches (due_at) WHERE ended_at IS NULL;
