-- Up Migration

-- What the whole task contract needs beside the foundation: limits and spend caps, the books with their balances, lists
-- by filter, the feed of task events, stored outputs over time, uploads, and what a task's inputs refer to.

-- Limits of an account (contract §7). They change rarely and are read with its keys, so they stand here and not among
-- the counters.
ALTER TABLE accounts
  ADD COLUMN creates_per_minute integer NOT NULL DEFAULT 60 CHECK (creates_per_minute > 0),
  ADD COLUMN reads_per_minute integer NOT NULL DEFAULT 1200 CHECK (reads_per_minute > 0),
  ADD COLUMN storage_cap_bytes bigint NOT NULL DEFAULT 100000000000 CHECK (storage_cap_bytes >= 0);

-- `persistent_bytes`: what is kept persistently, and what is about to be; never above the cap by a decision of ours.
-- `tasks_total`: every task ever accepted, so that a list need not count a million rows.
ALTER TABLE account_counters
  ADD COLUMN persistent_bytes bigint NOT NULL DEFAULT 0 CHECK (persistent_bytes >= 0),
  ADD COLUMN tasks_total bigint NOT NULL DEFAULT 0 CHECK (tasks_total >= 0);
UPDATE account_counters c SET tasks_total = (SELECT count(*) FROM tasks t WHERE t.account_id = c.account_id);

-- A cap belongs to the key that it was given with, and counts what is spent with that key and with every key made or
-- rotated from it: `spend_cap_ids` names all caps that a key's spending counts against.
CREATE TABLE spend_caps (
  id text PRIMARY KEY REFERENCES api_keys (id),
  account_id text NOT NULL,
  day_micro_usd bigint CHECK (day_micro_usd >= 0),
  total_micro_usd bigint CHECK (total_micro_usd >= 0)
);
-- What counts against a cap: holds and what was captured. `period` is a UTC day (`2026-11-21`) or `total`.
CREATE TABLE spend_periods (
  cap_id text NOT NULL REFERENCES spend_caps (id),
  period text NOT NULL,
  spent_micro_usd bigint NOT NULL CHECK (spent_micro_usd >= 0),
  PRIMARY KEY (cap_id, period)
);
ALTER TABLE api_keys
  ADD COLUMN spend_cap_ids text[] NOT NULL DEFAULT '{}',
  -- The cap among them that the key was given itself; a key that replaces another keeps that one's.
  ADD COLUMN spend_cap_id text,
  ADD COLUMN last_used_at timestamptz,
  -- The key that replaces this one; it stops at `expires_at` then.
  ADD COLUMN replaced_by text;
ALTER TABLE tasks ADD COLUMN spend_cap_ids text[];

-- The books, with what was available and held after each entry. Entries of an account are written while its counters
-- are locked, so that in the order of their ids they follow one another.
ALTER TABLE ledger_entries
  ADD COLUMN model text,
  ADD COLUMN available_after_micro_usd bigint,
  ADD COLUMN held_after_micro_usd bigint;
ALTER TABLE ledger_entries DISABLE TRIGGER ledger_entries_append_only;
UPDATE ledger_entries e
   SET available_after_micro_usd = s.available, held_after_micro_usd = s.held,
       model = (SELECT t.model FROM tasks t WHERE t.id = e.reference)
  FROM (SELECT id,
               sum(CASE kind WHEN 'hold' THEN -amount_micro_usd WHEN 'capture' THEN 0 ELSE amount_micro_usd END)
                 OVER (PARTITION BY account_id ORDER BY id) AS available,
               sum(CASE kind WHEN 'hold' THEN amount_micro_usd WHEN 'capture' THEN -amount_micro_usd
                             WHEN 'release' THEN -amount_micro_usd ELSE 0 END)
                 OVER (PARTITION BY account_id ORDER BY id) AS held
          FROM ledger_entries) s
 WHERE s.id = e.id;
ALTER TABLE ledger_entries ENABLE TRIGGER ledger_entries_append_only;
ALTER TABLE ledger_entries
  ALTER COLUMN available_after_micro_usd SET NOT NULL,
  ALTER COLUMN held_after_micro_usd SET NOT NULL;
-- Usage is what was captured.
CREATE INDEX ledger_entries_usage ON ledger_entries (account_id, created_at)
  INCLUDE (amount_micro_usd, key_id, model) WHERE kind = 'capture';

-- Lists. What never changes of a task is indexed when it is accepted. Of those that are over the status never changes;
-- those that are not are few (running cap and queue cap), so that a change of status stays heap-only.
-- NULLS LAST, where there are no nulls: a list that asks for this order gets it from its filter's index alone. From
-- `tasks_by_account` it would read the whole account for the one model, key or status that is rare in it.
CREATE INDEX tasks_by_model ON tasks (account_id, model, created_at DESC NULLS LAST, id DESC NULLS LAST);
CREATE INDEX tasks_by_key ON tasks (account_id, key_id, created_at DESC NULLS LAST, id DESC NULLS LAST);
CREATE INDEX tasks_over_by_status ON tasks (account_id, status, created_at DESC NULLS LAST, id DESC NULLS LAST)
  WHERE completed_at IS NOT NULL;
CREATE INDEX tasks_open_by_account ON tasks (account_id, created_at DESC NULLS LAST, id DESC NULLS LAST)
  WHERE completed_at IS NULL;
CREATE TABLE task_metadata (
  account_id text NOT NULL,
  -- The first 12 bytes of SHA-256 over the name's length, name and value: a value can be longer than an index entry.
  pair bytea NOT NULL,
  created_at timestamptz NOT NULL,
  task_id text NOT NULL,
  PRIMARY KEY (account_id, pair, created_at, task_id)
);
CREATE FUNCTION metadata_pair(name text, value text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN substr(sha256(convert_to(length(name)::text || ':' || name || value, 'UTF8')), 1, 12);
INSERT INTO task_metadata (account_id, pair, created_at, task_id)
  SELECT t.account_id, metadata_pair(m.key, m.value), t.created_at, t.id
    FROM tasks t, jsonb_each_text(t.metadata) m WHERE t.metadata IS NOT NULL;

-- Erasure: what a caller sent and got is gone, the row stays (contract §4).
ALTER TABLE tasks ADD COLUMN erased_at timestamptz, ADD COLUMN input_erased_at timestamptz;
CREATE INDEX tasks_with_input ON tasks (completed_at) WHERE completed_at IS NOT NULL AND input IS NOT NULL;

-- The feed: events in the order of the transactions that wrote them, for readers who wait (tasks/feed.ts).
ALTER TABLE task_events ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX task_events_feed ON task_events (xid);

-- Redelivery begins the schedule anew: attempts up to `attempts_before` belong to earlier ones.
ALTER TABLE callbacks ADD COLUMN attempts_before integer NOT NULL DEFAULT 0;

-- Stored outputs. `pending_since`: a promotion was accepted and its workflow has not answered yet; its bytes are counted
-- in `persistent_bytes` already. `bytes_deleted_at`: the object is physically gone.
ALTER TABLE outputs
  ADD COLUMN model text,
  ADD COLUMN pending_since timestamptz,
  ADD COLUMN bytes_deleted_at timestamptz;
UPDATE outputs o SET model = (SELECT t.model FROM tasks t WHERE t.id = o.task_id);
ALTER TABLE outputs ALTER COLUMN model SET NOT NULL;
CREATE INDEX outputs_by_account ON outputs (account_id, created_at DESC, id DESC);
-- The list shows what is kept, unless it is asked for more.
CREATE INDEX outputs_kept ON outputs (account_id, created_at DESC, id DESC) WHERE gone_at IS NULL;
CREATE INDEX outputs_persistent ON outputs (account_id, created_at DESC, id DESC)
  WHERE gone_at IS NULL AND storage_tier = 'persistent';
CREATE INDEX outputs_retained ON outputs (retain_until) WHERE retain_until IS NOT NULL AND gone_at IS NULL;
CREATE INDEX outputs_to_delete ON outputs (gone_at) WHERE gone_at IS NOT NULL AND bytes_deleted_at IS NULL;
CREATE INDEX outputs_pending ON outputs (pending_since) WHERE pending_since IS NOT NULL;
CREATE INDEX outputs_by_object ON outputs (object_key);

-- When an output was kept persistently: what metering adds up, whenever it runs.
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
-- Nothing was metered before this release, and nothing of that time is charged.
INSERT INTO storage_periods (output_id, account_id, size_bytes, began_at)
  SELECT id, account_id, size_bytes, now() FROM outputs WHERE storage_tier = 'persistent' AND gone_at IS NULL;
UPDATE account_counters c SET persistent_bytes = coalesce(
  (SELECT sum(p.size_bytes) FROM storage_periods p WHERE p.account_id = c.account_id AND p.ended_at IS NULL), 0);
-- One row per account and day that was metered: what was due and what could be taken.
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

-- Uploads (contract §7).
CREATE TABLE files (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  object_key text NOT NULL UNIQUE,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  gone_at timestamptz,
  bytes_deleted_at timestamptz
);
-- What an account keeps at this moment, added up for each upload.
CREATE INDEX files_kept_by_account ON files (account_id, expires_at) INCLUDE (size_bytes) WHERE gone_at IS NULL;
CREATE INDEX files_retained ON files (expires_at) WHERE gone_at IS NULL;
CREATE INDEX files_to_delete ON files (gone_at) WHERE gone_at IS NOT NULL AND bytes_deleted_at IS NULL;

-- Objects of ours that a task's input refers to. The bytes stay until the task is over.
CREATE TABLE task_inputs (
  task_id text NOT NULL,
  object_key text NOT NULL,
  PRIMARY KEY (task_id, object_key)
);
CREATE INDEX task_inputs_by_object ON task_inputs (object_key);

-- Everything that Temporal must be told, now about outputs too: `subject_id` is a task's or an output's.
ALTER TABLE outbox RENAME COLUMN task_id TO subject_id;
ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check
  CHECK (kind IN ('start_task', 'cancel_task', 'stop_generation', 'deliver_callback', 'promote_output'));

-- What the operator may have to pay although nobody was charged: work that a provider had, or may have had, of tasks
-- whose time ran out or whose outcome is not known (contract §7). At most what was held.
CREATE TABLE operator_costs (
  task_id text PRIMARY KEY,
  upstream text NOT NULL,
  model text NOT NULL,
  reason text NOT NULL,
  at_most_micro_usd bigint NOT NULL CHECK (at_most_micro_usd >= 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_costs_by_time ON operator_costs (created_at);

-- Tokens of the rate limits that processes lease (limits/leased-rate-limiter.ts). Losing it gives everybody a full bucket
-- again.
CREATE UNLOGGED TABLE rate_buckets (
  id text PRIMARY KEY,
  tokens double precision NOT NULL,
  -- {process: [tokens, when it leased them in Unix seconds]}: they occupy their place in the bucket.
  leases jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX rate_buckets_idle ON rate_buckets (updated_at);
