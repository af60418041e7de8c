-- Up Migration

-- The record that callers see (architecture, "The way of one task"). Money is integer micro-USD. Times are timestamptz.
-- Hot counters stand apart from what describes an account, so that an update of them touches one narrow row.
-- Rows written by every create carry no foreign keys to shared rows: each check would lock the same account and model
-- row from all sides. They are written only beside a successful update of that account's counters.

CREATE TABLE installation (
  is_the_one boolean PRIMARY KEY DEFAULT true CHECK (is_the_one),
  id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE accounts (
  id text PRIMARY KEY,
  name text NOT NULL,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  created_at timestamptz NOT NULL DEFAULT now()
);

-- One row per account, changed by every create, launch and settlement. `is_launchable` changes rarely, which keeps the
-- updates heap-only although the launcher finds its accounts by index.
CREATE TABLE account_counters (
  account_id text PRIMARY KEY REFERENCES accounts (id),
  available_micro_usd bigint NOT NULL DEFAULT 0 CHECK (available_micro_usd >= 0),
  held_micro_usd bigint NOT NULL DEFAULT 0 CHECK (held_micro_usd >= 0),
  queued integer NOT NULL DEFAULT 0 CHECK (queued >= 0),
  running integer NOT NULL DEFAULT 0 CHECK (running >= 0),
  queue_cap integer NOT NULL DEFAULT 1000 CHECK (queue_cap >= 0),
  running_cap integer NOT NULL DEFAULT 10 CHECK (running_cap >= 0),
  is_suspended boolean NOT NULL DEFAULT false,
  is_launchable boolean NOT NULL GENERATED ALWAYS AS (queued > 0 AND running < running_cap AND NOT is_suspended) STORED
) WITH (fillfactor = 50);
CREATE INDEX account_counters_launchable ON account_counters (account_id) WHERE is_launchable;

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  name text NOT NULL,
  secret_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  models text[],
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);

-- The secret is encrypted (AES-256-GCM). A replaced key signs beside the new one until `expires_at` (contract §6).
CREATE TABLE webhook_keys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  secret_ciphertext bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX webhook_keys_by_account ON webhook_keys (account_id, id DESC);

-- Append-only. `balance` figures are not stored: they are the sum, and `admin ledger verify` proves it.
CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('topup', 'adjustment', 'hold', 'capture', 'release')),
  reference text NOT NULL,
  amount_micro_usd bigint NOT NULL,
  key_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, reference)
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Every definition that a task was ever accepted under, by the hash of its content (architecture, "Models are pinned").
CREATE TABLE model_definitions (
  hash text PRIMARY KEY,
  name text NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE tasks (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  idempotency_key text,
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  model text NOT NULL,
  route text,
  definition_hash text NOT NULL,
  input jsonb,
  metadata jsonb,
  storage text NOT NULL CHECK (storage IN ('temp', 'persistent')),
  timeout_seconds integer,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'handling', 'archiving', 'success', 'fail')),
  held_micro_usd bigint NOT NULL CHECK (held_micro_usd >= 0),
  captured_micro_usd bigint CHECK (captured_micro_usd BETWEEN 0 AND held_micro_usd),
  error_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  queue_deadline_at timestamptz NOT NULL,
  started_at timestamptz,
  deadline_at timestamptz,
  archiving_deadline_at timestamptz,
  completed_at timestamptz,
  cancel_requested_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((status IN ('success', 'fail')) = (completed_at IS NOT NULL)),
  CHECK ((status = 'fail') = (error_reason IS NOT NULL)),
  CHECK ((status IN ('success', 'fail')) = (captured_micro_usd IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX tasks_by_idempotency_key ON tasks (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX tasks_by_account ON tasks (account_id, created_at DESC, id DESC);
-- What reconcile looks at: tasks that are not over, oldest first. `created_at` never changes, so updates stay heap-only
-- until the task ends.
CREATE INDEX tasks_open ON tasks (created_at, id) WHERE completed_at IS NULL;

-- One generation per task: the intent before a submit that cannot be repeated, then the job, then what it produced.
CREATE TABLE generations (
  task_id text PRIMARY KEY REFERENCES tasks (id),
  upstream text NOT NULL,
  state text NOT NULL CHECK (state IN ('intent', 'submitted', 'produced')),
  job_id text,
  -- [{"key": …}] for bytes already in the object store, [{"url": …}] for what has to be fetched.
  files jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((state = 'produced') = (files IS NOT NULL))
);
CREATE INDEX generations_by_job ON generations (upstream, job_id) WHERE job_id IS NOT NULL;

CREATE TABLE outputs (
  id text PRIMARY KEY,
  task_id text NOT NULL REFERENCES tasks (id),
  account_id text NOT NULL,
  position integer NOT NULL,
  type text NOT NULL,
  object_key text NOT NULL,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  width integer,
  height integer,
  duration_seconds double precision,
  storage_tier text NOT NULL CHECK (storage_tier IN ('temp', 'persistent')),
  created_at timestamptz NOT NULL DEFAULT now(),
  retain_until timestamptz,
  gone_at timestamptz,
  gone_reason text CHECK (gone_reason IN ('deleted', 'expired')),
  UNIQUE (task_id, position)
);

CREATE TABLE task_events (
  task_id text NOT NULL,
  seq integer NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  type text NOT NULL,
  detail jsonb,
  PRIMARY KEY (task_id, seq)
);

CREATE TABLE callbacks (
  task_id text PRIMARY KEY,
  account_id text NOT NULL,
  url text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'pending', 'delivered', 'exhausted', 'stopped')),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX callbacks_pending ON callbacks (task_id) WHERE state = 'pending';

-- Written before the attempt is sent; a row without `finished_at` is an attempt whose worker died.
CREATE TABLE callback_attempts (
  task_id text NOT NULL REFERENCES callbacks (task_id),
  attempt integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  http_status integer,
  error_class text CHECK (error_class IN ('tls', 'timeout', 'unreachable')),
  PRIMARY KEY (task_id, attempt)
);

-- Everything that Temporal must be told, written in the transaction that decides it. `due_at` is the lease: claiming a
-- row moves it into the future, and a process that dies simply lets it come due again.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('start_task', 'cancel_task', 'deliver_callback')),
  account_id text NOT NULL,
  task_id text NOT NULL,
  -- A start waits for a running slot of its account first; everything else is ready at once. So a task occupies its
  -- account's queue exactly as long as it has a start that is not ready, and a running slot from then on.
  is_ready boolean NOT NULL,
  due_at timestamptz NOT NULL DEFAULT now(),
  deliveries integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, task_id)
);
CREATE INDEX outbox_ready ON outbox (due_at) WHERE is_ready;
CREATE INDEX outbox_waiting ON outbox (account_id, id) WHERE NOT is_ready;
