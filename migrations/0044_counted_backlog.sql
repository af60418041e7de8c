-- Up Migration (no transaction)

-- The backlogs of the installation as one process counted them, for the metrics of all processes. One row.
CREATE TABLE IF NOT EXISTS counted_backlog (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  counted_at timestamptz NOT NULL DEFAULT 'epoch',
  backlog jsonb
);
INSERT INTO counted_backlog DEFAULT VALUES ON CONFLICT DO NOTHING;
