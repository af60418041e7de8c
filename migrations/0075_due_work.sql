-- Up Migration

-- Batches and text calls in the background are claimed by the apis themselves, and have no workflows any more
-- (src/processes/claim-runner.ts): when they may be worked on next.
ALTER TABLE background_calls ADD COLUMN due_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE batches ADD COLUMN due_at timestamptz NOT NULL DEFAULT now(), ALTER COLUMN advanced_at SET DEFAULT now();
DROP INDEX background_calls_stalled;
DROP INDEX batches_stalled;
DELETE FROM outbox WHERE kind IN ('start_background_call', 'start_batch');
