-- Up Migration

-- The worker that last began to wait for a job (src/generation/wait.ts), so that a wait that Temporal handed to a worker
-- which never got it is noticed within seconds.
ALTER TABLE generations ADD COLUMN awaited_by text;
