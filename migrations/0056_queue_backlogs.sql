-- Up Migration (no transaction)

-- How much work waits in each task queue of Temporal, and for how long, as one process asked for the metrics of all.
-- One row. Nothing else is stored with it: the answer is Temporal's, and a process that asks must not hold a lock.
CREATE TABLE IF NOT EXISTS queue_backlogs (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  asked_at timestamptz NOT NULL DEFAULT 'epoch',
  answered_at timestamptz NOT NULL DEFAULT 'epoch',
  backlogs jsonb
);
INSERT INTO queue_backlogs DEFAULT VALUES ON CONFLICT DO NOTHING;
