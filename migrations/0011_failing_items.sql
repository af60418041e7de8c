-- Up Migration

-- Single items that a pass could not deal with (src/database/failing-items.ts): each is left out until its retry is due,
-- so that the pass goes on with all others, and operators see which they are. Without foreign keys: nothing waits for this.
CREATE TABLE failing_items (
  kind text NOT NULL,
  subject_id text NOT NULL,
  failures integer NOT NULL DEFAULT 1,
  first_failed_at timestamptz NOT NULL DEFAULT now(),
  last_failed_at timestamptz NOT NULL DEFAULT now(),
  retry_at timestamptz NOT NULL,
  error text NOT NULL,
  PRIMARY KEY (kind, subject_id)
);

-- When a stalled delivery was last asked for once more: those asked for longest ago come first.
ALTER TABLE callbacks ADD COLUMN asked_again_at timestamptz;
