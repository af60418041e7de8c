-- Up Migration

-- The workers that run, by the identity under which Temporal knows them. Each writes its row every few seconds, so that
-- the others notice one that has died long before the heartbeats of its activities are missed.
CREATE TABLE worker_processes (
  id text PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);
