-- Up Migration (no transaction)

-- Text calls that no connection waits for (src/text/background/). Each is run by attempts, one after another: `attempts`
-- is the number of the last one, and only that one records an outcome. `is_running` is false while no attempt is at
-- work; one that begins while it is true follows one that was lost. `request` is the body until the call has ended; null
-- for a line of a batch, whose body is in the batch's input from byte `line_begin` on. `response` is the response object
-- as it was created. `answer` is the whole answer of a line; that of a response is in text_responses. `error` is the
-- status and the body that a request would have got. `settlement` is what is captured, and may be settled again from
-- here.
CREATE TABLE IF NOT EXISTS background_calls (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  surface text NOT NULL CHECK (surface IN ('chat', 'responses')),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'in_progress', 'answered', 'failed', 'cancelled')),
  attempts integer NOT NULL DEFAULT 0,
  lost_attempts integer NOT NULL DEFAULT 0,
  is_running boolean NOT NULL DEFAULT false,
  is_streamed boolean NOT NULL DEFAULT false,
  spend_cap_ids text[],
  request json,
  request_bytes integer NOT NULL DEFAULT 0,
  batch_id text,
  line integer,
  line_begin bigint,
  response json,
  answer json,
  error json,
  settlement json,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  -- When it was last worked on: one that is open and was not for minutes has lost its workflow.
  touched_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  CHECK ((ended_at IS NOT NULL) = (state IN ('answered', 'failed', 'cancelled'))),
  CHECK (num_nulls(batch_id, line, line_begin) IN (0, 3)),
  CHECK ((batch_id IS NOT NULL OR ended_at IS NOT NULL) = (request IS NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX IF NOT EXISTS background_calls_of_batch ON background_calls (batch_id, line)
  WHERE batch_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS background_calls_of_account ON background_calls (account_id)
  WHERE ended_at IS NULL AND batch_id IS NULL;
CREATE INDEX IF NOT EXISTS background_calls_stalled ON background_calls (touched_at) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS background_calls_ended ON background_calls (ended_at)
  WHERE ended_at IS NOT NULL AND batch_id IS NULL;

ALTER TABLE outbox DROP CONSTRAINT IF EXISTS outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check
  CHECK (kind IN ('start_task', 'cancel_task', 'stop_generation', 'deliver_callback', 'promote_output', 'wake_task',
                  'start_batch', 'start_background_call'))
  NOT VALID;
ALTER TABLE outbox VALIDATE CONSTRAINT outbox_kind_check;
