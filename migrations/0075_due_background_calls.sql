-- Up Migration

-- Text calls in the background are claimed by the apis themselves, and have no workflows any more
-- (src/processes/background-runner.ts): when a call may be attempted next.
ALTER TABLE background_calls ADD COLUMN due_at timestamptz NOT NULL DEFAULT now();
DROP INDEX background_calls_stalled;
