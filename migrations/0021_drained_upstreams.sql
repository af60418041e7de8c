-- Up Migration

-- Why an upstream is paused, where its credential is the reason; null: it asked us to back off. Without meaning once
-- `paused_until` is over. `drained_at`: since when an operator lets no new tasks go there; null: they may.
ALTER TABLE upstream_states
  ADD COLUMN pause_reason text,
  ADD COLUMN drained_at timestamptz;
