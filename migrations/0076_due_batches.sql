-- Up Migration

-- So are batches (src/processes/batch-runner.ts).
ALTER TABLE batches ADD COLUMN due_at timestamptz NOT NULL DEFAULT now(), ALTER COLUMN advanced_at SET DEFAULT now();
DROP INDEX batches_stalled;
