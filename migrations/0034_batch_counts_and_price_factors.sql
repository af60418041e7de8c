-- Up Migration (no transaction)

-- `model` is the one that all lines name. Of the lines beyond the first `lines_settled`, `ahead_…` have ended. The
-- tokens are those of the text lines among the first `lines_settled`.
ALTER TABLE batches
  ADD COLUMN IF NOT EXISTS model text,
  ADD COLUMN IF NOT EXISTS ahead_completed integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS ahead_failed integer NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS input_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS cached_input_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS output_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS reasoning_tokens bigint NOT NULL DEFAULT 0;

-- Batches that ended long ago are deleted.
CREATE INDEX CONCURRENTLY IF NOT EXISTS batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;

-- What the price of a task is multiplied by: that of its model for the lines of batches. Null: it is not.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS price_factor text;
