-- Up Migration (no transaction)

-- A task that waits for an upstream is told through the outbox that it has a slot there.
ALTER TABLE outbox DROP CONSTRAINT IF EXISTS outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check
  CHECK (kind IN ('start_task', 'cancel_task', 'stop_generation', 'deliver_callback', 'promote_output', 'wake_task'))
  NOT VALID;
ALTER TABLE outbox VALIDATE CONSTRAINT outbox_kind_check;
