-- Up Migration

-- The schema of the first release, in the order of the modules. PostgreSQL is the record that callers see: what is
-- decided is here, and Temporal only carries it out. Each table says what a row is and what always holds.
--
-- Money is integer micro-USD (`…_micro_usd`), times are `timestamptz` by the clock of this database, and sizes are
-- bytes. `created_at` is when a row was written, also where no code reads it: operators do.
--
-- Rows that every create writes have no foreign keys to shared rows (an account, a model): each check would lock the
-- same row from all sides. They are written only together with a successful update of that account's counters.
--
-- This file never changes once it is released: a database that ran it would differ from a new one. It therefore cites
-- no other files, which may get other names. A change is a file of its own with the next number.

-- Of the tables that are only added to.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$$;

-- ----------------------------------------------------------------------------------------------------
-- The installation

-- The one row of this database. Task ids are derived from `id`, and the names of task queues and schedules begin with
-- it, so that installations can share a Temporal namespace.
CREATE TABLE installation (
  is_the_one boolean PRIMARY KEY DEFAULT true CHECK (is_the_one),
  id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When it put its mark into its object store: a store without the mark is another one. Null: not yet.
  store_marked_at timestamptz
);

-- ----------------------------------------------------------------------------------------------------
-- Accounts and keys

-- A customer. What changes rarely, and is read together with the account's keys; what every task changes is in
-- `account_counters`. An account is never deleted.
CREATE TABLE accounts (
  id text PRIMARY KEY,
  name text NOT NULL,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  -- In the words of the operator, for operators only; null while it is not suspended.
  suspension_reason text,
  -- The account with which its organisation began; null: its own, so that every account has an organisation, and
  -- those of one organisation are found by one id.
  organisation_id text REFERENCES accounts (id),
  creates_per_minute integer NOT NULL DEFAULT 60 CHECK (creates_per_minute > 0),
  reads_per_minute integer NOT NULL DEFAULT 1200 CHECK (reads_per_minute > 0),
  text_requests_per_minute integer NOT NULL DEFAULT 600 CHECK (text_requests_per_minute > 0),
  text_tokens_per_minute integer NOT NULL DEFAULT 1000000 CHECK (text_tokens_per_minute > 0),
  storage_cap_bytes bigint NOT NULL DEFAULT 100000000000 CHECK (storage_cap_bytes >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT accounts_organisation_id_check CHECK (organisation_id <> id)
);
CREATE INDEX accounts_of_organisation ON accounts (organisation_id) WHERE organisation_id IS NOT NULL;

-- An API key. Only the hash of its secret is here.
CREATE TABLE api_keys (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  name text NOT NULL,
  secret_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  -- Null: all.
  models text[],
  -- The cap that it was given itself, and all caps that its spending counts against: those of the keys that it was made
  -- from as well.
  spend_cap_id text,
  spend_cap_ids text[] NOT NULL DEFAULT '{}',
  -- The key that replaces it; it then ends at `expires_at`.
  replaced_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);

-- A short-lived token: it acts as its key, with fewer rights, until it expires.
CREATE TABLE tokens (
  id text PRIMARY KEY,
  key_id text NOT NULL,
  account_id text NOT NULL,
  secret_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  models text[],
  -- Those of the pages that may use it; null: it is not for pages.
  origins text[],
  -- Its cap is in `spend_caps` under its own id, so its row is kept as long as that is needed.
  is_capped boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX tokens_by_account ON tokens (account_id, expires_at);
CREATE INDEX tokens_by_age ON tokens (expires_at) WHERE NOT is_capped;
CREATE INDEX tokens_capped_by_age ON tokens (expires_at) WHERE is_capped;

-- An origin that has a valid token: looked up before a browser sends a request with one.
CREATE TABLE token_origins (
  origin text NOT NULL,
  expires_at timestamptz NOT NULL,
  token_id text NOT NULL,
  PRIMARY KEY (origin, expires_at, token_id)
);
CREATE INDEX token_origins_by_age ON token_origins (expires_at);

-- A session of the dashboard: it has exactly the rights of its key, and goes with it.
CREATE TABLE dashboard_sessions (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
-- For signing out everywhere.
CREATE INDEX dashboard_sessions_of_key ON dashboard_sessions (key_id);
-- Those that are over are removed whenever one begins.
CREATE INDEX dashboard_sessions_by_end ON dashboard_sessions (expires_at);

-- A link that signs in once.
CREATE TABLE sign_in_links (
  secret_sha256 bytea PRIMARY KEY,
  key_id text NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_by_end ON sign_in_links (expires_at);

-- A signing secret of an account's callbacks, encrypted. One that was replaced signs beside the new one until
-- `expires_at`.
CREATE TABLE webhook_keys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL REFERENCES accounts (id),
  secret_ciphertext bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX webhook_keys_by_account ON webhook_keys (account_id, id DESC);

-- What operators have set for a provider or a credential, by its name: the credential, encrypted, and the URL that
-- replaces the one in the provider's file.
CREATE TABLE upstream_settings (
  name text PRIMARY KEY,
  secret_ciphertext bytea,
  base_url text,
  updated_at timestamptz NOT NULL,
  CHECK (secret_ciphertext IS NOT NULL OR base_url IS NOT NULL)
);

-- ----------------------------------------------------------------------------------------------------
-- Money

-- The counters of an account: one narrow row, which every create, launch and settlement updates, and which therefore
-- makes them one after another. No counter is ever negative. `is_launchable` changes rarely, so that updates stay
-- heap-only although the launcher finds its accounts by an index.
CREATE TABLE account_counters (
  account_id text PRIMARY KEY REFERENCES accounts (id),
  -- The row that has the account's money; null: this one. Accounts of one organisation share that of its first account.
  -- A row that draws on another one never has money of its own, where it would be out of sight.
  wallet_id text REFERENCES account_counters (account_id),
  available_micro_usd bigint NOT NULL DEFAULT 0 CHECK (available_micro_usd >= 0),
  held_micro_usd bigint NOT NULL DEFAULT 0 CHECK (held_micro_usd >= 0),
  -- What is stored persistently, or is about to be.
  persistent_bytes bigint NOT NULL DEFAULT 0 CHECK (persistent_bytes >= 0),
  -- All tasks ever accepted, so that a list need not count a million rows.
  tasks_total bigint NOT NULL DEFAULT 0 CHECK (tasks_total >= 0),
  queued integer NOT NULL DEFAULT 0 CHECK (queued >= 0),
  running integer NOT NULL DEFAULT 0 CHECK (running >= 0),
  queue_cap integer NOT NULL DEFAULT 1000 CHECK (queue_cap >= 0),
  running_cap integer NOT NULL DEFAULT 10 CHECK (running_cap >= 0),
  -- Text calls that are held and not settled, of all processes together.
  text_streams integer NOT NULL DEFAULT 0 CHECK (text_streams >= 0),
  text_streams_cap integer NOT NULL DEFAULT 100 CHECK (text_streams_cap >= 0),
  is_suspended boolean NOT NULL DEFAULT false,
  is_launchable boolean NOT NULL GENERATED ALWAYS AS (queued > 0 AND running < running_cap AND NOT is_suspended) STORED,
  CONSTRAINT account_counters_wallet_id_check
    CHECK (wallet_id IS NULL OR (wallet_id <> account_id AND available_micro_usd = 0 AND held_micro_usd = 0))
) WITH (fillfactor = 50);
CREATE INDEX account_counters_launchable ON account_counters (account_id) WHERE is_launchable;
CREATE INDEX account_counters_of_wallet ON account_counters (wallet_id) WHERE wallet_id IS NOT NULL;

-- What an account has on hold is in its wallet until it is settled, so an account keeps its wallet for ever. After the
-- update, because a trigger before it would lock the row once more, for every hold and settlement.
CREATE FUNCTION refuse_other_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the wallet of account % cannot change', OLD.account_id;
END
$$;
CREATE TRIGGER account_counters_fixed_wallet AFTER UPDATE OF wallet_id ON account_counters
  FOR EACH ROW WHEN (OLD.wallet_id IS DISTINCT FROM NEW.wallet_id) EXECUTE FUNCTION refuse_other_wallet();

-- An entry of the ledger, with what was available and on hold in its wallet after it. Append-only, and once for each
-- kind and reference, so that nothing is ever paid twice. Entries of a wallet are written while its counters are
-- locked: in the order of their ids they follow from one another.
CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text NOT NULL,
  -- Where it is not the account's own.
  wallet_id text,
  kind text NOT NULL CHECK (kind IN ('topup', 'adjustment', 'hold', 'capture', 'release')),
  -- The task or text call, or what the operator paid in by.
  reference text NOT NULL,
  amount_micro_usd bigint NOT NULL,
  available_after_micro_usd bigint NOT NULL,
  held_after_micro_usd bigint NOT NULL,
  key_id text,
  model text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, reference)
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, id);
CREATE INDEX ledger_entries_by_shared_wallet ON ledger_entries (wallet_id, id) WHERE wallet_id IS NOT NULL;
-- Usage is what was captured, and is summed from the index alone.
CREATE INDEX ledger_entries_usage ON ledger_entries (account_id, created_at)
  INCLUDE (amount_micro_usd, key_id, model) WHERE kind = 'capture';
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- A cap on spending, by the id of the key or token that it was given with. It counts what is spent with that one, and
-- with every key made or rotated from it.
CREATE TABLE spend_caps (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  day_micro_usd bigint CHECK (day_micro_usd >= 0),
  total_micro_usd bigint CHECK (total_micro_usd >= 0)
);

-- What counts against a cap in a period, a UTC day (`2026-11-21`) or `total`: what is on hold and what was captured.
CREATE TABLE spend_periods (
  cap_id text NOT NULL REFERENCES spend_caps (id),
  period text NOT NULL,
  spent_micro_usd bigint NOT NULL CHECK (spent_micro_usd >= 0),
  PRIMARY KEY (cap_id, period)
);

-- What the operator may have to pay although nobody was charged: work that an upstream had, or may have had, of a task
-- whose time ran out or whose outcome is unknown. Of a text call: what it cost beyond its hold.
CREATE TABLE operator_costs (
  task_id text PRIMARY KEY,
  upstream text NOT NULL,
  model text NOT NULL,
  reason text NOT NULL,
  at_most_micro_usd bigint NOT NULL CHECK (at_most_micro_usd >= 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_costs_by_time ON operator_costs (created_at);

-- What a task that an upstream worked on cost the operator, and what its owner paid, for the margin report. Written by
-- the settlement, and never changed. Without a source the cost is unknown.
CREATE TABLE task_costs (
  task_id text PRIMARY KEY,
  account_id text NOT NULL,
  model text NOT NULL,
  upstream text NOT NULL,
  cost_micro_usd bigint CHECK (cost_micro_usd >= 0),
  source text,
  usage jsonb,
  captured_micro_usd bigint NOT NULL CHECK (captured_micro_usd >= 0),
  ended_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((cost_micro_usd IS NULL) = (source IS NULL))
);
CREATE INDEX task_costs_by_time ON task_costs (ended_at);

-- ----------------------------------------------------------------------------------------------------
-- Models

-- A definition of a model, by the hash of its content: a task is worked on by the one under which it was accepted,
-- whatever becomes of the file. Rows never change and are never deleted.
CREATE TABLE model_definitions (
  hash text PRIMARY KEY,
  name text NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- The content that a model file had when it last had no problem: an api that starts while the file has one offers this.
CREATE TABLE model_files (
  file text PRIMARY KEY,
  hash text NOT NULL,
  content text NOT NULL,
  good_since timestamptz NOT NULL DEFAULT now()
);

-- The last run of an upstream of a model against the real service of its provider. `upstream` is its index in the
-- route. The result counts for the definition with that hash alone.
CREATE TABLE live_verifications (
  provider text NOT NULL,
  model text NOT NULL,
  route text NOT NULL,
  upstream integer NOT NULL,
  definition_hash text NOT NULL,
  at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('success', 'fail')),
  detail text NOT NULL,
  -- The names of the members of the provider's last answer in the last successful run; null: there was none.
  members text[],
  -- What the run cost at most.
  cost_micro_usd bigint NOT NULL,
  PRIMARY KEY (provider, model, route, upstream)
);

-- What a provider says about a credential. `fingerprint` is that of the credential and of where it was sent: the result
-- is one for exactly these.
CREATE TABLE credential_probes (
  provider text NOT NULL,
  credential text NOT NULL,
  fingerprint bytea NOT NULL,
  state text NOT NULL CHECK (state IN ('unknown', 'valid', 'rejected')),
  checked_at timestamptz,
  -- A process probes until then.
  claimed_until timestamptz,
  PRIMARY KEY (provider, credential)
);

-- ----------------------------------------------------------------------------------------------------
-- Upstreams

-- What all processes know of an upstream, of tasks and of text alike. Upstreams without a row are healthy.
CREATE TABLE upstream_states (
  upstream text PRIMARY KEY,
  -- The number of its rows in `upstream_slots`; both change in one statement.
  slots_taken integer NOT NULL DEFAULT 0 CHECK (slots_taken >= 0),
  -- How many jobs it may have at once, as the api that has had its models for the shortest time says (`cap_since`);
  -- null: any number. Where none has said so (`cap_published_at` is null), the definition of each task counts.
  cap integer,
  cap_since timestamptz,
  cap_published_at timestamptz,
  -- Until when it asked us to back off, or its credential needs a pause, which is the reason then.
  paused_until timestamptz,
  pause_reason text,
  -- Failures in a row, and when the first of them was.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- Set while the circuit breaker is open; once it has passed, one task may try.
  open_until timestamptz,
  -- Since when an operator lets no new tasks go there; null: they may.
  drained_at timestamptz,
  -- When it last answered, recorded at most once a minute by each process.
  answered_at timestamptz,
  -- What is wrong with its credential, until it accepts one again.
  credential_problem text
);

-- A task that has, or is about to have, a job at an upstream with a concurrency limit.
CREATE TABLE upstream_slots (
  upstream text NOT NULL,
  task_id text NOT NULL,
  account_id text,
  taken_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (upstream, task_id)
);
CREATE INDEX upstream_slots_by_task ON upstream_slots (task_id);

-- A task that waits for a slot there. The row ends with its task.
CREATE TABLE upstream_waits (
  upstream text NOT NULL,
  task_id text NOT NULL,
  account_id text NOT NULL,
  -- Since when the task is handled: one that gave its slot back and comes again is where it was.
  since timestamptz NOT NULL,
  -- As its model has it: models may cap the same upstream differently.
  cap integer NOT NULL CHECK (cap > 0),
  PRIMARY KEY (upstream, task_id)
);
CREATE INDEX upstream_waits_in_order ON upstream_waits (upstream, account_id, since, task_id);

CREATE SEQUENCE upstream_turn_numbers;

-- Whose turn it is at an upstream: the account with the lowest number was admitted, or began to wait, longest ago.
CREATE TABLE upstream_turns (
  upstream text NOT NULL,
  account_id text NOT NULL,
  turn bigint NOT NULL DEFAULT nextval('upstream_turn_numbers'),
  PRIMARY KEY (upstream, account_id)
);

-- How often a provider has called back about a task that has not ended: a hint, of whose content nothing is kept.
CREATE TABLE provider_hooks (
  task_id text PRIMARY KEY,
  upstream text NOT NULL,
  received integer NOT NULL DEFAULT 1,
  received_at timestamptz NOT NULL DEFAULT now()
);

-- ----------------------------------------------------------------------------------------------------
-- Tasks

-- A task. Its status only advances, by updates that match open rows, and the settlement ends it once: then it has a
-- completion time and a captured amount, and a reason if it failed. It captures at most what it holds.
CREATE TABLE tasks (
  -- Also the id of its workflow. With an Idempotency-Key it is derived from that.
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  idempotency_key text,
  -- What a request with the same key is compared with.
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  model text NOT NULL,
  -- Null for models without routes.
  route text,
  definition_hash text NOT NULL,
  -- Null once it is erased.
  input jsonb,
  metadata jsonb,
  storage text NOT NULL CHECK (storage IN ('temp', 'persistent')),
  timeout_seconds integer,
  -- The batch whose line it is; its work waits behind other work.
  batch_id text,
  -- What its price is multiplied by, as for the lines of batches; null: nothing.
  price_factor text,
  -- The key that signs the URLs which its providers are given: the one that was current when it began.
  url_key_id text,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'handling', 'archiving', 'success', 'fail')),
  -- In percent, where it is known; written at each tenth at most.
  progress smallint CHECK (progress BETWEEN 0 AND 100),
  held_micro_usd bigint NOT NULL CHECK (held_micro_usd >= 0),
  captured_micro_usd bigint CHECK (captured_micro_usd BETWEEN 0 AND held_micro_usd),
  spend_cap_ids text[],
  error_reason text,
  -- Which field of its input it failed for, and what is wrong with that: a path of the model's schema and a word of a
  -- closed list, nothing of the input.
  error_field text CHECK (length(error_field) BETWEEN 1 AND 100),
  error_case text CHECK (length(error_case) BETWEEN 1 AND 40),
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  cancel_requested_at timestamptz,
  -- Of each stage.
  queue_deadline_at timestamptz NOT NULL,
  deadline_at timestamptz,
  archiving_deadline_at timestamptz,
  -- When what the caller sent, and got, was erased; the row stays.
  erased_at timestamptz,
  input_erased_at timestamptz,
  CHECK ((status IN ('success', 'fail')) = (completed_at IS NOT NULL)),
  CHECK ((status = 'fail') = (error_reason IS NOT NULL)),
  CHECK ((status IN ('success', 'fail')) = (captured_micro_usd IS NOT NULL))
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX tasks_by_idempotency_key ON tasks (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Lists. What never changes of a task is indexed when it is accepted. Of those that have ended, the status never
-- changes; those that have not are few (running cap and queue cap), so that a change of status stays heap-only.
CREATE INDEX tasks_by_account ON tasks (account_id, created_at DESC, id DESC);
-- NULLS LAST, although there are no nulls: a list that asks for this order gets it from its filter's index alone. From
-- `tasks_by_account` it would read the whole account for the one model, key or status that is rare in it.
CREATE INDEX tasks_by_model ON tasks (account_id, model, created_at DESC NULLS LAST, id DESC NULLS LAST);
CREATE INDEX tasks_by_key ON tasks (account_id, key_id, created_at DESC NULLS LAST, id DESC NULLS LAST);
CREATE INDEX tasks_over_by_status ON tasks (account_id, status, created_at DESC NULLS LAST, id DESC NULLS LAST)
  WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_open_by_account ON tasks (account_id, created_at DESC NULLS LAST, id DESC NULLS LAST)
  WHERE completed_at IS NULL;
-- For operators: of all accounts.
CREATE INDEX tasks_by_time ON tasks (created_at DESC, id DESC);
CREATE INDEX tasks_failed ON tasks (created_at DESC, id DESC) WHERE status = 'fail';
-- For the repair, which looks at tasks that have not ended, oldest first.
CREATE INDEX tasks_open ON tasks (created_at, id) WHERE completed_at IS NULL;
-- For the retention of inputs.
CREATE INDEX tasks_with_input ON tasks (completed_at) WHERE completed_at IS NOT NULL AND input IS NOT NULL;

-- One name and value of a task's metadata, for lists by metadata.
CREATE TABLE task_metadata (
  account_id text NOT NULL,
  pair bytea NOT NULL,
  created_at timestamptz NOT NULL,
  task_id text NOT NULL,
  PRIMARY KEY (account_id, pair, created_at, task_id)
);
-- The first 12 bytes of SHA-256 over the name's length, name and value: a value can be longer than an index entry.
CREATE FUNCTION metadata_pair(name text, value text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN substr(sha256(convert_to(length(name)::text || ':' || name || value, 'UTF8')), 1, 12);

-- An object of ours that a task's input refers to. Its bytes stay until the task has ended.
CREATE TABLE task_inputs (
  task_id text NOT NULL,
  object_key text NOT NULL,
  PRIMARY KEY (task_id, object_key)
);
CREATE INDEX task_inputs_by_object ON task_inputs (object_key);

-- The generation of a task, one at a time: the intent before a submit that must not be repeated, then the job, then the
-- files.
CREATE TABLE generations (
  task_id text PRIMARY KEY REFERENCES tasks (id),
  upstream text NOT NULL,
  -- The index of the upstream in the task's route.
  place smallint NOT NULL DEFAULT 0 CHECK (place >= 0),
  state text NOT NULL CHECK (state IN ('intent', 'submitted', 'produced')),
  job_id text,
  -- [{"key": …}] for bytes that are in the object store, [{"url": …}] for what has to be fetched.
  files jsonb,
  -- What it costs the operator, how that is known, and what the provider says that it used.
  cost_micro_usd bigint,
  cost_source text,
  usage jsonb,
  -- The worker that last began to wait for the job, so that a wait that Temporal handed to a worker which never got
  -- it is noticed within seconds.
  awaited_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((state = 'produced') = (files IS NOT NULL))
);

-- An event of a task's timeline. `xid` makes them a feed, in the order of the transactions that wrote them, for readers
-- who wait.
CREATE TABLE task_events (
  task_id text NOT NULL,
  seq integer NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  type text NOT NULL,
  detail jsonb,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (task_id, seq)
);
CREATE INDEX task_events_feed ON task_events (xid);

-- Something that Temporal has to do, written in the transaction that decides it, and removed once Temporal has
-- accepted it. `subject_id` is a task's or an output's. `due_at` is the lease: claiming a row moves it into the
-- future, and if the process dies the row becomes due again.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN (
    'start_task', 'cancel_task', 'stop_generation', 'deliver_callback', 'promote_output', 'wake_task')),
  account_id text NOT NULL,
  subject_id text NOT NULL,
  -- A start waits for a running slot of its account first; everything else is ready at once. So a task is in its
  -- account's queue exactly as long as it has a start that is not ready, and has a running slot from then on.
  is_ready boolean NOT NULL,
  due_at timestamptz NOT NULL DEFAULT now(),
  deliveries integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, subject_id)
);
CREATE INDEX outbox_ready ON outbox (due_at) WHERE is_ready;
CREATE INDEX outbox_waiting ON outbox (account_id, id) WHERE NOT is_ready;

-- A task without an Idempotency-Key whose creator waits for the result on its connection, or such a response in the
-- background: an automatic retry of the request finds it here.
CREATE TABLE awaited_responses (
  -- Of a response: its id.
  task_id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  fingerprint bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The request that waits; null: its client has disconnected.
  waiter text,
  -- How many have attached so far.
  retries integer NOT NULL DEFAULT 0,
  -- The request that gets the result, and when its response was sent completely.
  sent_to text,
  received_at timestamptz
);
CREATE INDEX awaited_responses_by_request ON awaited_responses (account_id, key_id, fingerprint, created_at);
CREATE INDEX awaited_responses_by_age ON awaited_responses (created_at);

-- What remains of a task that was pruned: its id, which is that of its Idempotency-Key, what a request with that key is
-- compared with, its times, and what `ledger verify` compares with the entries of the task.
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

-- An object to which tasks of an account were exported before they were deleted.
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

-- ----------------------------------------------------------------------------------------------------
-- Outputs and storage

-- A stored output of a task. Readers find it until `gone_at`; its object is deleted later (`bytes_deleted_at`).
CREATE TABLE outputs (
  id text PRIMARY KEY,
  task_id text NOT NULL REFERENCES tasks (id),
  account_id text NOT NULL,
  model text NOT NULL,
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
  -- Since when a promotion is accepted whose workflow has not ended. Its bytes are in `persistent_bytes` already.
  pending_since timestamptz,
  gone_at timestamptz,
  gone_reason text CHECK (gone_reason IN ('deleted', 'expired')),
  bytes_deleted_at timestamptz,
  UNIQUE (task_id, position)
);
CREATE INDEX outputs_by_account ON outputs (account_id, created_at DESC, id DESC);
-- A list shows what is kept, unless it is asked for more.
CREATE INDEX outputs_kept ON outputs (account_id, created_at DESC, id DESC) WHERE gone_at IS NULL;
CREATE INDEX outputs_persistent ON outputs (account_id, created_at DESC, id DESC)
  WHERE gone_at IS NULL AND storage_tier = 'persistent';
CREATE INDEX outputs_retained ON outputs (retain_until) WHERE retain_until IS NOT NULL AND gone_at IS NULL;
CREATE INDEX outputs_pending ON outputs (pending_since) WHERE pending_since IS NOT NULL;
CREATE INDEX outputs_to_delete ON outputs (gone_at) WHERE gone_at IS NOT NULL AND bytes_deleted_at IS NULL;
CREATE INDEX outputs_by_object ON outputs (object_key);

-- A client that receives a file while it is generated. Nothing depends on these rows and the next ones: what the
-- client did not get from here, it gets from the stored file. Unlogged, because they live for seconds and are of no
-- use after a crash.
CREATE UNLOGGED TABLE output_listeners (
  task_id text PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX output_listeners_by_age ON output_listeners (created_at);

-- A piece of such a file. `source` is the attempt that generates it, and `position` where the piece begins, in bytes.
CREATE UNLOGGED TABLE output_pieces (
  task_id text NOT NULL,
  source text NOT NULL,
  position bigint NOT NULL,
  bytes bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (task_id, source, position)
);
CREATE INDEX output_pieces_by_age ON output_pieces (created_at);

-- A time during which an output was stored persistently: what the metering adds up, whenever it runs.
CREATE TABLE storage_periods (
  output_id text NOT NULL,
  account_id text NOT NULL,
  size_bytes bigint NOT NULL,
  began_at timestamptz NOT NULL,
  ended_at timestamptz,
  PRIMARY KEY (output_id, began_at)
);
CREATE INDEX storage_periods_by_account ON storage_periods (account_id, began_at);
CREATE INDEX storage_periods_open ON storage_periods (account_id, began_at) WHERE ended_at IS NULL;
CREATE INDEX storage_periods_ended ON storage_periods (account_id, ended_at) WHERE ended_at IS NOT NULL;

-- A UTC day of an account that was metered: what was due, and what could be charged. Once for each.
CREATE TABLE storage_days (
  account_id text NOT NULL,
  day date NOT NULL,
  byte_seconds numeric NOT NULL,
  due_micro_usd bigint NOT NULL,
  paid_micro_usd bigint NOT NULL CHECK (paid_micro_usd BETWEEN 0 AND due_micro_usd),
  metered_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, day)
);
CREATE INDEX storage_days_unpaid ON storage_days (day, account_id) WHERE paid_micro_usd < due_micro_usd;

-- An uploaded file. A part of an upload in parts is a file of its own until the upload is completed: it counts, expires
-- and is deleted like one.
CREATE TABLE files (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  object_key text NOT NULL UNIQUE,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  -- What the inspection found: the size upright, in pixels, and the measured length. Null for files that have none.
  width integer,
  height integer,
  duration_seconds double precision,
  channels integer,
  -- Of OpenAI's form, as its client sent them; null: a file in our form.
  purpose text,
  filename text,
  upload_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  gone_at timestamptz,
  bytes_deleted_at timestamptz
);
-- What an account has stored at this moment is added up for each upload.
CREATE INDEX files_kept_by_account ON files (account_id, expires_at) INCLUDE (size_bytes) WHERE gone_at IS NULL;
CREATE INDEX files_listed ON files (account_id, created_at, id) WHERE purpose IS NOT NULL AND gone_at IS NULL;
CREATE INDEX files_of_upload ON files (upload_id) WHERE upload_id IS NOT NULL AND gone_at IS NULL;
CREATE INDEX files_retained ON files (expires_at) WHERE gone_at IS NULL;
CREATE INDEX files_to_delete ON files (gone_at) WHERE gone_at IS NOT NULL AND bytes_deleted_at IS NULL;
CREATE INDEX files_to_prune ON files (bytes_deleted_at) WHERE bytes_deleted_at IS NOT NULL;

-- A file that is sent in parts. The parts must come to `size_bytes`; the finished file is kept for `kept_seconds`. Rows
-- are deleted a day after they have expired.
CREATE TABLE uploads (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  filename text NOT NULL,
  purpose text NOT NULL,
  size_bytes bigint NOT NULL CHECK (size_bytes > 0),
  kept_seconds integer NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'completed', 'cancelled')),
  file_id text,
  -- The end of the lease of its completion, of which there is one at a time: the bytes that it writes count against the
  -- account during that.
  completing_until timestamptz,
  -- The MD5 of the parts whose ids, in their order, have the SHA-256 `hashed_parts`, so that a wrong MD5 is compared
  -- and not computed again.
  hashed_parts text,
  hashed_md5 text,
  hashings integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK ((status = 'completed') = (file_id IS NOT NULL))
);
CREATE INDEX uploads_by_expiry ON uploads (expires_at);
CREATE INDEX uploads_completing ON uploads (account_id) WHERE completing_until IS NOT NULL;

-- ----------------------------------------------------------------------------------------------------
-- Callbacks

-- The callback of a task. It waits for the task's end, and is then delivered, or given up after the schedule's
-- attempts.
CREATE TABLE callbacks (
  task_id text PRIMARY KEY,
  account_id text NOT NULL,
  url text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'pending', 'delivered', 'exhausted', 'stopped')),
  attempts integer NOT NULL DEFAULT 0,
  -- Redelivery begins the schedule anew: attempts up to this one belong to earlier deliveries.
  attempts_before integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  -- When a stalled delivery was last requested again: those requested longest ago come first.
  asked_again_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX callbacks_pending ON callbacks (task_id) WHERE state = 'pending';

-- An attempt to deliver a callback, written before it is sent: one without `finished_at` is one whose worker died.
CREATE TABLE callback_attempts (
  task_id text NOT NULL REFERENCES callbacks (task_id),
  attempt integer NOT NULL,
  account_id text,
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  http_status integer,
  error_class text CHECK (error_class IN ('tls', 'timeout', 'unreachable')),
  PRIMARY KEY (task_id, attempt)
);
CREATE INDEX callback_attempts_by_account ON callback_attempts (account_id, started_at DESC, task_id DESC);

-- An endpoint that does not accept callbacks, from the first delivery that was given up until one arrives: healthy ones
-- have no row and cost nothing.
CREATE TABLE callback_receivers (
  account_id text NOT NULL,
  -- Scheme, host and port.
  origin text NOT NULL,
  failing_since timestamptz NOT NULL,
  last_failed_at timestamptz NOT NULL,
  -- Of the last attempt: one of the two.
  last_http_status integer,
  last_error_class text CHECK (last_error_class IN ('tls', 'timeout', 'unreachable')),
  -- Deliveries given up since then.
  given_up integer NOT NULL DEFAULT 1,
  PRIMARY KEY (account_id, origin)
);

-- ----------------------------------------------------------------------------------------------------
-- Text

-- An api that answers text calls. Once its lease has ended by this database's clock it counts as dead, and another api
-- settles its calls. `unbroken_since`: since when its lease never lapsed.
CREATE TABLE text_processes (
  id uuid PRIMARY KEY,
  leased_until timestamptz NOT NULL,
  unbroken_since timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- A text call: written by its hold, and once more by its settlement. Its id is the ledger's reference. Narrow, with
-- wide columns first, because every call writes it twice: what was asked and answered is not here. The settlement
-- takes a row out of the index of open ones, and so is no heap-only update; the other way would be a second table,
-- which costs more.
--
-- A row without `process_id` is no call. It takes the place of one whose hold was sent and never confirmed, so that the
-- primary key rejects the hold if it comes late.
CREATE TABLE text_calls (
  created_at timestamptz NOT NULL DEFAULT now(),
  settled_at timestamptz,
  held_micro_usd bigint NOT NULL CHECK (held_micro_usd >= 0),
  -- What is captured if its process dies: its input alone.
  floor_micro_usd bigint NOT NULL CHECK (floor_micro_usd BETWEEN 0 AND held_micro_usd),
  captured_micro_usd bigint CHECK (captured_micro_usd BETWEEN 0 AND held_micro_usd),
  -- What it cost by its upstream's report, if that is more than was held: the rest is in `operator_costs`.
  due_micro_usd bigint CONSTRAINT text_calls_due_above_hold CHECK (due_micro_usd > held_micro_usd),
  process_id uuid,
  -- As counted before the call; from the settlement on as billed, like the others.
  input_tokens integer NOT NULL,
  cached_input_tokens integer,
  output_tokens integer,
  reasoning_tokens integer,
  -- Its answer is kept as a stored response.
  is_stored boolean NOT NULL,
  -- Its tokens were counted here, and not reported by who answered.
  is_estimated boolean NOT NULL DEFAULT false,
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text,
  model text,
  spend_cap_ids text[],
  -- How it ended, for operators; null if its process died.
  outcome text,
  error_reason text,
  upstream text,
  CHECK ((settled_at IS NULL) = (captured_micro_usd IS NULL)),
  CHECK (settled_at IS NOT NULL OR process_id IS NOT NULL),
  CHECK ((process_id IS NULL) = (key_id IS NULL) AND (process_id IS NULL) = (model IS NULL))
) WITH (fillfactor = 80);
-- By the process that has to settle them: a few entries, however many calls there were.
CREATE INDEX text_calls_open ON text_calls (process_id) WHERE settled_at IS NULL;
CREATE INDEX text_calls_by_time ON text_calls (created_at DESC, id DESC);
CREATE INDEX text_calls_failed ON text_calls (created_at DESC, id DESC) WHERE outcome = 'failed';

-- Whom a text call was for: `user` or `safety_identifier` of its request. Of a task, it is `user` in the metadata.
CREATE TABLE text_call_end_users (
  call_id text PRIMARY KEY,
  account_id text NOT NULL,
  end_user text NOT NULL
);
CREATE INDEX text_call_end_users_by_user ON text_call_end_users (account_id, end_user);

-- A stored response, written once, when its call has ended. `json`, because nothing looks inside, and `jsonb` cannot
-- have U+0000.
CREATE TABLE text_responses (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  -- The response that it continues.
  previous_id text,
  created_at timestamptz NOT NULL,
  -- From then on it is not found.
  expires_at timestamptz NOT NULL,
  -- The response object without its output, the items of its own input, and its output; null once it is deleted.
  response json,
  input json,
  output json,
  -- How the text of a streamed response was cut into deltas, so that streaming it again gives its events the same
  -- numbers. Null if it was not streamed, and once it is deleted.
  deltas json,
  -- Of the three, as they were written.
  bytes integer NOT NULL CHECK (bytes >= 0),
  deleted_at timestamptz,
  CHECK (num_nulls(response, input, output) = CASE WHEN deleted_at IS NULL THEN 0 ELSE 3 END)
);
CREATE INDEX text_responses_by_expiry ON text_responses (expires_at);

-- A request for a response in the background that had an Idempotency-Key, from which the id follows. Kept for good, so
-- that a key never pays for a second response.
CREATE TABLE response_keys (
  response_id text PRIMARY KEY,
  account_id text NOT NULL,
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- A text call that no connection waits for: a response in the background, or a line of a batch. Attempts run it, one
-- after another, and only the last one records an outcome.
CREATE TABLE background_calls (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  surface text NOT NULL CHECK (surface IN ('chat', 'responses')),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'in_progress', 'answered', 'failed', 'cancelled')),
  -- The number of the last attempt, and how many were lost.
  attempts integer NOT NULL DEFAULT 0,
  lost_attempts integer NOT NULL DEFAULT 0,
  -- False while no attempt is at work: one that begins while it is true follows one that was lost.
  is_running boolean NOT NULL DEFAULT false,
  -- The process of the attempt, which lives as long as that has its lease: no other one begins meanwhile.
  process_id uuid,
  -- A request of the attempt may have reached an upstream that bills it, so that repeating it may be paid twice.
  is_sent boolean NOT NULL DEFAULT false,
  is_streamed boolean NOT NULL DEFAULT false,
  -- False: it waits in its account's queue, in the order of arrival.
  is_admitted boolean NOT NULL DEFAULT true,
  -- Why the last attempt was put off.
  waiting_for text,
  spend_cap_ids text[],
  -- The body, until the call has ended; null for a line of a batch, whose body is in the batch's input from byte
  -- `line_begin` on.
  request json,
  request_bytes integer NOT NULL DEFAULT 0,
  batch_id text,
  line integer,
  line_begin bigint,
  -- The response object as it was created.
  response json,
  -- The whole answer of a line; that of a response is in `text_responses`.
  answer json,
  -- The status and the body that a request would have got.
  error json,
  -- What is captured, which may be settled again from here.
  settlement json,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  -- When it may be attempted next.
  due_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  CHECK ((ended_at IS NOT NULL) = (state IN ('answered', 'failed', 'cancelled'))),
  CHECK (num_nulls(batch_id, line, line_begin) IN (0, 3)),
  CHECK ((batch_id IS NOT NULL OR ended_at IS NOT NULL) = (request IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX background_calls_due ON background_calls (due_at) WHERE ended_at IS NULL AND is_admitted;
-- The queue of each account, and what is running of it.
CREATE INDEX background_calls_open ON background_calls (account_id, is_admitted, created_at, line)
  WHERE ended_at IS NULL;
CREATE INDEX background_calls_of_account ON background_calls (account_id) WHERE ended_at IS NULL AND batch_id IS NULL;
CREATE UNIQUE INDEX background_calls_of_batch ON background_calls (batch_id, line) WHERE batch_id IS NOT NULL;
CREATE INDEX background_calls_ended ON background_calls (ended_at) WHERE ended_at IS NOT NULL AND batch_id IS NULL;

-- A part of the stream of a response in the background: the events from number `first` up to, and not including,
-- `next`, each as it is sent. Kept for an hour after the call's end.
CREATE TABLE background_events (
  call_id text NOT NULL,
  first integer NOT NULL,
  next integer NOT NULL,
  frames text[] NOT NULL,
  PRIMARY KEY (call_id, first)
);

-- An object to which text calls were exported before they were deleted: a call is in one whose times contain its own.
-- What remains of it is its entries in the ledger, and the next two tables.
CREATE TABLE text_call_archives (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  object_key text NOT NULL UNIQUE,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  calls integer NOT NULL CHECK (calls > 0),
  first_created_at timestamptz NOT NULL,
  last_created_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- What pruned calls counted against a cap, by the UTC day of their hold: `ledger verify` compares the sum with
-- `spend_periods`.
CREATE TABLE pruned_text_spend (
  cap_id text NOT NULL,
  day date NOT NULL,
  spent_micro_usd bigint NOT NULL,
  PRIMARY KEY (cap_id, day)
);

-- A pruned call whose tokens were counted here: the account's ledger says so of its capture.
CREATE TABLE pruned_estimated_calls (
  id text PRIMARY KEY
);

-- Where the pruning of calls continues: at this block of `text_calls`. Null: with a new round. One row.
CREATE TABLE text_pruning_progress (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  block bigint CHECK (block >= 0),
  round_ended_at timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO text_pruning_progress DEFAULT VALUES;

-- ----------------------------------------------------------------------------------------------------
-- Batches

-- A batch of requests. Its lines are in the input file and have no rows of their own: `lines_fed` of them are tasks,
-- text calls, or in `batch_rejections`, and the next one begins at byte `fed_bytes`. The first `lines_settled` have
-- ended and are counted; of those behind them, `ahead_…` have ended.
CREATE TABLE batches (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  endpoint text NOT NULL,
  -- The one that all lines name.
  model text,
  completion_window text NOT NULL,
  metadata jsonb,
  input_file_id text NOT NULL,
  input_object_key text NOT NULL,
  input_bytes bigint NOT NULL,
  output_file_id text,
  error_file_id text,
  output_kept_seconds integer NOT NULL,
  status text NOT NULL DEFAULT 'validating' CHECK (status IN (
    'validating', 'in_progress', 'finalizing', 'completed', 'failed', 'expired', 'cancelling', 'cancelled')),
  problems jsonb,
  -- Why some lines wait at this moment.
  waiting_for text,
  lines_total integer NOT NULL DEFAULT 0,
  lines_fed integer NOT NULL DEFAULT 0,
  fed_bytes bigint NOT NULL DEFAULT 0,
  lines_settled integer NOT NULL DEFAULT 0,
  lines_completed integer NOT NULL DEFAULT 0,
  lines_failed integer NOT NULL DEFAULT 0,
  ahead_completed integer NOT NULL DEFAULT 0,
  ahead_failed integer NOT NULL DEFAULT 0,
  -- Of the text lines among the first `lines_settled`.
  input_tokens bigint NOT NULL DEFAULT 0,
  cached_input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  reasoning_tokens bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  in_progress_at timestamptz,
  finalizing_at timestamptz,
  cancelling_at timestamptz,
  ended_at timestamptz,
  -- When it may be worked on next.
  due_at timestamptz NOT NULL DEFAULT now(),
  CHECK (lines_settled = lines_completed + lines_failed AND lines_settled <= lines_fed AND lines_fed <= lines_total),
  CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'expired', 'cancelled')))
);
CREATE INDEX batches_due ON batches (due_at) WHERE ended_at IS NULL;
CREATE INDEX batches_open ON batches (account_id) WHERE ended_at IS NULL;
CREATE INDEX batches_listed ON batches (account_id, created_at, id);
CREATE INDEX batches_of_input ON batches (input_object_key) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;

-- A line that became no task and no call: `response` is what a request would have got. Deleted once the batch's files
-- are written.
CREATE TABLE batch_rejections (
  batch_id text NOT NULL,
  line integer NOT NULL,
  response jsonb NOT NULL,
  PRIMARY KEY (batch_id, line)
);

-- ----------------------------------------------------------------------------------------------------
-- Operations

-- The bucket of a rate limit, from which processes lease tokens. Unlogged: losing it makes every bucket full again.
CREATE UNLOGGED TABLE rate_buckets (
  id text PRIMARY KEY,
  tokens double precision NOT NULL,
  -- {process: [tokens, when it leased them in Unix seconds]}: they still count as in the bucket.
  leases jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX rate_buckets_idle ON rate_buckets (updated_at);

-- A worker that runs, by the identity under which Temporal knows it. Each writes its row every few seconds, so that the
-- others notice one that has died long before the heartbeats of its activities are missed.
CREATE TABLE worker_processes (
  id text PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);

-- Something that the repair has done. Only added to, and pruned by the pass that repairs. Without a foreign key:
-- nothing of a task waits for it, and it waits for no task.
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

-- An item that a pass could not process. It is left out until `retry_at`, so that the pass continues with all others,
-- and operators see which they are.
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

-- The backlogs of the installation as one process counted them, for the metrics of all processes. One row.
CREATE TABLE counted_backlog (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  counted_at timestamptz NOT NULL DEFAULT 'epoch',
  backlog jsonb
);
INSERT INTO counted_backlog DEFAULT VALUES;

-- How much work waits in each task queue of Temporal, and for how long, as one process asked for the metrics of all.
-- One row. Nothing else is stored with it: the answer is Temporal's, and a process that asks must not hold a lock.
CREATE TABLE queue_backlogs (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  asked_at timestamptz NOT NULL DEFAULT 'epoch',
  answered_at timestamptz NOT NULL DEFAULT 'epoch',
  backlogs jsonb
);
INSERT INTO queue_backlogs DEFAULT VALUES;
