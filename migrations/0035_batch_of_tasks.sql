-- Up Migration (no transaction)

-- The batch whose line a task is. Its work waits behind other work.
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS batch_id text;
