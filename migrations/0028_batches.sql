-- Up Migration (no transaction)

-- Batches of requests (src/batches/). The lines are in the input file and have no rows of their own: `lines_fed` of
-- them are tasks, or in `batch_rejections`; the next one begins at byte `fed_bytes`. The first `lines_settled` have
-- ended, and are counted.
CREATE TABLE IF NOT EXISTS batches (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  endpoint text NOT NULL,
  completion_window text NOT NULL,
  metadata jsonb,
  input_file_id text NOT NULL,
  input_object_key text NOT NULL,
  input_bytes bigint NOT NULL,
  output_kept_seconds integer NOT NULL,
  status text NOT NULL DEFAULT 'validating' CHECK (status IN (
    'validating', 'in_progress', 'finalizing', 'completed', 'failed', 'expired', 'cancelling', 'cancelled')),
  problems jsonb,
  lines_total integer NOT NULL DEFAULT 0,
  lines_fed integer NOT NULL DEFAULT 0,
  fed_bytes bigint NOT NULL DEFAULT 0,
  lines_settled integer NOT NULL DEFAULT 0,
  lines_completed integer NOT NULL DEFAULT 0,
  lines_failed integer NOT NULL DEFAULT 0,
  output_file_id text,
  error_file_id text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  in_progress_at timestamptz,
  finalizing_at timestamptz,
  cancelling_at timestamptz,
  ended_at timestamptz,
  -- When it was last worked on: one that is open and was not for minutes has lost its workflow.
  advanced_at timestamptz NOT NULL,
  CHECK (lines_settled = lines_completed + lines_failed AND lines_settled <= lines_fed AND lines_fed <= lines_total),
  CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'expired', 'cancelled')))
);
CREATE INDEX IF NOT EXISTS batches_listed ON batches (account_id, created_at, id);
CREATE INDEX IF NOT EXISTS batches_open ON batches (account_id) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS batches_stalled ON batches (advanced_at) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS batches_of_input ON batches (input_object_key) WHERE ended_at IS NULL;

-- Lines for which there is no task: `response` is what a request would have got. Deleted once the files are written.
CREATE TABLE IF NOT EXISTS batch_rejections (
  batch_id text NOT NULL,
  line integer NOT NULL,
  response jsonb NOT NULL,
  PRIMARY KEY (batch_id, line)
);

ALTER TABLE outbox DROP CONSTRAINT IF EXISTS outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check
  CHECK (kind IN ('start_task', 'cancel_task', 'stop_generation', 'deliver_callback', 'promote_output', 'wake_task',
                  'start_batch'))
  NOT VALID;
ALTER TABLE outbox VALIDATE CONSTRAINT outbox_kind_check;
