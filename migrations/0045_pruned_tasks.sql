-- Up Migration

-- What remains of a task that was pruned (docs/decisions/0026): its id, which is that of its Idempotency-Key, what a
-- request with that key is compared with, its dates, and what `ledger verify` compares with the entries of the task.
CREATE TABLE pruned_tasks (
  task_id text PRIMARY KEY,
  account_id text NOT NULL,
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  held_micro_usd bigint NOT NULL,
  captured_micro_usd bigint NOT NULL,
  spend_cap_ids text[],
  created_at timestamptz NOT NULL,
  completed_at timestamptz NOT NULL,
  pruned_at timestamptz NOT NULL DEFAULT now(),
  archive_id bigint NOT NULL
);

-- The objects to which pruned tasks were exported before they were deleted.
CREATE TABLE task_archives (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL,
  object_key text NOT NULL UNIQUE,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  tasks integer NOT NULL CHECK (tasks > 0),
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Where the pruning continues: after this task of this account, or with a new round if there is no account. One row.
CREATE TABLE pruning_progress (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  account_id text,
  created_at timestamptz NOT NULL DEFAULT '-infinity',
  task_id text NOT NULL DEFAULT '',
  round_ended_at timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO pruning_progress DEFAULT VALUES;
