-- Up Migration

-- What the repair has done (src/tasks/repair-record.ts), by whatever process; only added to, and pruned by the pass that
-- repairs. Without a foreign key: nothing of a task waits for this, and it does not wait for a task.
CREATE TABLE repairs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  kind text NOT NULL,
  task_id text NOT NULL,
  -- What the task was found as; null for a callback.
  found text
);
CREATE INDEX repairs_by_time ON repairs (at, id);
CREATE TRIGGER repairs_append_only BEFORE UPDATE ON repairs
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Why an account is suspended, in its operator's words and for operators alone; null while it is not.
ALTER TABLE accounts ADD COLUMN suspension_reason text;
