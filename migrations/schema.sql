-- The schema that the migrations of this directory result in, for readers. Generated, and no migration: change the
-- schema by a new migration, then run WRITE_SCHEMA=1 npm test -- test/database/schema.test.ts.

CREATE SEQUENCE upstream_turn_numbers;

CREATE OR REPLACE FUNCTION public.metadata_pair(name text, value text)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN substr(sha256(convert_to(((((length(name))::text || ':'::text) || name) || value), 'UTF8'::name)), 1, 12);

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END
$function$;

CREATE OR REPLACE FUNCTION public.refuse_other_wallet()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'the wallet of account % cannot change', OLD.account_id;
END
$function$;

CREATE TABLE accounts (
  id text NOT NULL,
  name text NOT NULL,
  status text DEFAULT 'active'::text NOT NULL,
  suspension_reason text,
  organisation_id text,
  creates_per_minute integer DEFAULT 60 NOT NULL,
  reads_per_minute integer DEFAULT 1200 NOT NULL,
  text_requests_per_minute integer DEFAULT 600 NOT NULL,
  text_tokens_per_minute integer DEFAULT 1000000 NOT NULL,
  storage_cap_bytes bigint DEFAULT '100000000000'::bigint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_creates_per_minute_check CHECK ((creates_per_minute > 0)),
  CONSTRAINT accounts_organisation_id_check CHECK ((organisation_id <> id)),
  CONSTRAINT accounts_reads_per_minute_check CHECK ((reads_per_minute > 0)),
  CONSTRAINT accounts_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text]))),
  CONSTRAINT accounts_storage_cap_bytes_check CHECK ((storage_cap_bytes >= 0)),
  CONSTRAINT accounts_text_requests_per_minute_check CHECK ((text_requests_per_minute > 0)),
  CONSTRAINT accounts_text_tokens_per_minute_check CHECK ((text_tokens_per_minute > 0)),
  CONSTRAINT accounts_organisation_id_fkey FOREIGN KEY (organisation_id) REFERENCES accounts(id)
);
CREATE INDEX accounts_of_organisation ON accounts USING btree (organisation_id) WHERE (organisation_id IS NOT NULL);

CREATE TABLE account_counters (
  account_id text NOT NULL,
  wallet_id text,
  available_micro_usd bigint DEFAULT 0 NOT NULL,
  held_micro_usd bigint DEFAULT 0 NOT NULL,
  persistent_bytes bigint DEFAULT 0 NOT NULL,
  tasks_total bigint DEFAULT 0 NOT NULL,
  queued integer DEFAULT 0 NOT NULL,
  running integer DEFAULT 0 NOT NULL,
  queue_cap integer DEFAULT 1000 NOT NULL,
  running_cap integer DEFAULT 10 NOT NULL,
  text_streams integer DEFAULT 0 NOT NULL,
  text_streams_cap integer DEFAULT 100 NOT NULL,
  is_suspended boolean DEFAULT false NOT NULL,
  is_launchable boolean GENERATED ALWAYS AS (((queued > 0) AND (running < running_cap) AND (NOT is_suspended))) STORED NOT NULL,
  CONSTRAINT account_counters_pkey PRIMARY KEY (account_id),
  CONSTRAINT account_counters_available_micro_usd_check CHECK ((available_micro_usd >= 0)),
  CONSTRAINT account_counters_held_micro_usd_check CHECK ((held_micro_usd >= 0)),
  CONSTRAINT account_counters_persistent_bytes_check CHECK ((persistent_bytes >= 0)),
  CONSTRAINT account_counters_queue_cap_check CHECK ((queue_cap >= 0)),
  CONSTRAINT account_counters_queued_check CHECK ((queued >= 0)),
  CONSTRAINT account_counters_running_cap_check CHECK ((running_cap >= 0)),
  CONSTRAINT account_counters_running_check CHECK ((running >= 0)),
  CONSTRAINT account_counters_tasks_total_check CHECK ((tasks_total >= 0)),
  CONSTRAINT account_counters_text_streams_cap_check CHECK ((text_streams_cap >= 0)),
  CONSTRAINT account_counters_text_streams_check CHECK ((text_streams >= 0)),
  CONSTRAINT account_counters_wallet_id_check CHECK (((wallet_id IS NULL) OR ((wallet_id <> account_id) AND (available_micro_usd = 0) AND (held_micro_usd = 0)))),
  CONSTRAINT account_counters_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT account_counters_wallet_id_fkey FOREIGN KEY (wallet_id) REFERENCES account_counters(account_id)
) WITH (fillfactor = 50);
CREATE INDEX account_counters_launchable ON account_counters USING btree (account_id) WHERE is_launchable;
CREATE INDEX account_counters_of_wallet ON account_counters USING btree (wallet_id) WHERE (wallet_id IS NOT NULL);
CREATE TRIGGER account_counters_fixed_wallet AFTER UPDATE OF wallet_id ON account_counters FOR EACH ROW WHEN ((old.wallet_id IS DISTINCT FROM new.wallet_id)) EXECUTE FUNCTION refuse_other_wallet();

CREATE TABLE api_keys (
  id text NOT NULL,
  account_id text NOT NULL,
  name text NOT NULL,
  secret_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  models text[],
  spend_cap_id text,
  spend_cap_ids text[] DEFAULT '{}'::text[] NOT NULL,
  replaced_by text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX api_keys_by_account ON api_keys USING btree (account_id, created_at);

CREATE TABLE awaited_responses (
  task_id text NOT NULL,
  account_id text NOT NULL,
  key_id text NOT NULL,
  fingerprint bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  waiter text,
  retries integer DEFAULT 0 NOT NULL,
  sent_to text,
  received_at timestamp with time zone,
  CONSTRAINT awaited_responses_pkey PRIMARY KEY (task_id)
);
CREATE INDEX awaited_responses_by_age ON awaited_responses USING btree (created_at);
CREATE INDEX awaited_responses_by_request ON awaited_responses USING btree (account_id, key_id, fingerprint, created_at);

CREATE TABLE background_calls (
  id text NOT NULL,
  account_id text NOT NULL,
  key_id text NOT NULL,
  surface text NOT NULL,
  state text DEFAULT 'queued'::text NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  lost_attempts integer DEFAULT 0 NOT NULL,
  is_running boolean DEFAULT false NOT NULL,
  process_id uuid,
  is_sent boolean DEFAULT false NOT NULL,
  is_streamed boolean DEFAULT false NOT NULL,
  is_admitted boolean DEFAULT true NOT NULL,
  waiting_for text,
  spend_cap_ids text[],
  request json,
  request_bytes integer DEFAULT 0 NOT NULL,
  batch_id text,
  line integer,
  line_begin bigint,
  response json,
  answer json,
  error json,
  settlement json,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  started_at timestamp with time zone,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  ended_at timestamp with time zone,
  CONSTRAINT background_calls_pkey PRIMARY KEY (id),
  CONSTRAINT background_calls_check CHECK (((ended_at IS NOT NULL) = (state = ANY (ARRAY['answered'::text, 'failed'::text, 'cancelled'::text])))),
  CONSTRAINT background_calls_check1 CHECK ((num_nulls(batch_id, line, line_begin) = ANY (ARRAY[0, 3]))),
  CONSTRAINT background_calls_check2 CHECK ((((batch_id IS NOT NULL) OR (ended_at IS NOT NULL)) = (request IS NULL))),
  CONSTRAINT background_calls_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'in_progress'::text, 'answered'::text, 'failed'::text, 'cancelled'::text]))),
  CONSTRAINT background_calls_surface_check CHECK ((surface = ANY (ARRAY['chat'::text, 'responses'::text])))
) WITH (fillfactor = 80);
CREATE INDEX background_calls_due ON background_calls USING btree (due_at) WHERE ((ended_at IS NULL) AND is_admitted);
CREATE INDEX background_calls_ended ON background_calls USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (batch_id IS NULL));
CREATE INDEX background_calls_of_account ON background_calls USING btree (account_id) WHERE ((ended_at IS NULL) AND (batch_id IS NULL));
CREATE UNIQUE INDEX background_calls_of_batch ON background_calls USING btree (batch_id, line) WHERE (batch_id IS NOT NULL);
CREATE INDEX background_calls_open ON background_calls USING btree (account_id, is_admitted, created_at, line) WHERE (ended_at IS NULL);

CREATE TABLE background_events (
  call_id text NOT NULL,
  first integer NOT NULL,
  next integer NOT NULL,
  frames text[] NOT NULL,
  CONSTRAINT background_events_pkey PRIMARY KEY (call_id, first)
);

CREATE TABLE batch_rejections (
  batch_id text NOT NULL,
  line integer NOT NULL,
  response jsonb NOT NULL,
  CONSTRAINT batch_rejections_pkey PRIMARY KEY (batch_id, line)
);

CREATE TABLE batches (
  id text NOT NULL,
  account_id text NOT NULL,
  key_id text NOT NULL,
  endpoint text NOT NULL,
  model text,
  completion_window text NOT NULL,
  metadata jsonb,
  input_file_id text NOT NULL,
  input_object_key text NOT NULL,
  input_bytes bigint NOT NULL,
  output_file_id text,
  error_file_id text,
  output_kept_seconds integer NOT NULL,
  status text DEFAULT 'validating'::text NOT NULL,
  problems jsonb,
  waiting_for text,
  lines_total integer DEFAULT 0 NOT NULL,
  lines_fed integer DEFAULT 0 NOT NULL,
  fed_bytes bigint DEFAULT 0 NOT NULL,
  lines_settled integer DEFAULT 0 NOT NULL,
  lines_completed integer DEFAULT 0 NOT NULL,
  lines_failed integer DEFAULT 0 NOT NULL,
  ahead_completed integer DEFAULT 0 NOT NULL,
  ahead_failed integer DEFAULT 0 NOT NULL,
  input_tokens bigint DEFAULT 0 NOT NULL,
  cached_input_tokens bigint DEFAULT 0 NOT NULL,
  output_tokens bigint DEFAULT 0 NOT NULL,
  reasoning_tokens bigint DEFAULT 0 NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  in_progress_at timestamp with time zone,
  finalizing_at timestamp with time zone,
  cancelling_at timestamp with time zone,
  ended_at timestamp with time zone,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT batches_pkey PRIMARY KEY (id),
  CONSTRAINT batches_check CHECK (((lines_settled = (lines_completed + lines_failed)) AND (lines_settled <= lines_fed) AND (lines_fed <= lines_total))),
  CONSTRAINT batches_check1 CHECK (((ended_at IS NOT NULL) = (status = ANY (ARRAY['completed'::text, 'failed'::text, 'expired'::text, 'cancelled'::text])))),
  CONSTRAINT batches_status_check CHECK ((status = ANY (ARRAY['validating'::text, 'in_progress'::text, 'finalizing'::text, 'completed'::text, 'failed'::text, 'expired'::text, 'cancelling'::text, 'cancelled'::text])))
);
CREATE INDEX batches_due ON batches USING btree (due_at) WHERE (ended_at IS NULL);
CREATE INDEX batches_ended ON batches USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX batches_listed ON batches USING btree (account_id, created_at, id);
CREATE INDEX batches_of_input ON batches USING btree (input_object_key) WHERE (ended_at IS NULL);
CREATE INDEX batches_open ON batches USING btree (account_id) WHERE (ended_at IS NULL);

CREATE TABLE callback_receivers (
  account_id text NOT NULL,
  origin text NOT NULL,
  failing_since timestamp with time zone NOT NULL,
  last_failed_at timestamp with time zone NOT NULL,
  last_http_status integer,
  last_error_class text,
  given_up integer DEFAULT 1 NOT NULL,
  CONSTRAINT callback_receivers_pkey PRIMARY KEY (account_id, origin),
  CONSTRAINT callback_receivers_last_error_class_check CHECK ((last_error_class = ANY (ARRAY['tls'::text, 'timeout'::text, 'unreachable'::text])))
);

CREATE TABLE callbacks (
  task_id text NOT NULL,
  account_id text NOT NULL,
  url text NOT NULL,
  state text DEFAULT 'waiting'::text NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  attempts_before integer DEFAULT 0 NOT NULL,
  next_attempt_at timestamp with time zone,
  asked_again_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT callbacks_pkey PRIMARY KEY (task_id),
  CONSTRAINT callbacks_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'pending'::text, 'delivered'::text, 'exhausted'::text, 'stopped'::text])))
);
CREATE INDEX callbacks_pending ON callbacks USING btree (task_id) WHERE (state = 'pending'::text);

CREATE TABLE callback_attempts (
  task_id text NOT NULL,
  attempt integer NOT NULL,
  account_id text,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  finished_at timestamp with time zone,
  http_status integer,
  error_class text,
  CONSTRAINT callback_attempts_pkey PRIMARY KEY (task_id, attempt),
  CONSTRAINT callback_attempts_error_class_check CHECK ((error_class = ANY (ARRAY['tls'::text, 'timeout'::text, 'unreachable'::text]))),
  CONSTRAINT callback_attempts_task_id_fkey FOREIGN KEY (task_id) REFERENCES callbacks(task_id)
);
CREATE INDEX callback_attempts_by_account ON callback_attempts USING btree (account_id, started_at DESC, task_id DESC);

CREATE TABLE counted_backlog (
  is_only boolean DEFAULT true NOT NULL,
  counted_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
  backlog jsonb,
  CONSTRAINT counted_backlog_pkey PRIMARY KEY (is_only),
  CONSTRAINT counted_backlog_is_only_check CHECK (is_only)
);

CREATE TABLE credential_probes (
  provider text NOT NULL,
  credential text NOT NULL,
  fingerprint bytea NOT NULL,
  state text NOT NULL,
  checked_at timestamp with time zone,
  claimed_until timestamp with time zone,
  CONSTRAINT credential_probes_pkey PRIMARY KEY (provider, credential),
  CONSTRAINT credential_probes_state_check CHECK ((state = ANY (ARRAY['unknown'::text, 'valid'::text, 'rejected'::text])))
);

CREATE TABLE dashboard_sessions (
  secret_sha256 bytea NOT NULL,
  key_id text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT dashboard_sessions_pkey PRIMARY KEY (secret_sha256),
  CONSTRAINT dashboard_sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
);
CREATE INDEX dashboard_sessions_by_end ON dashboard_sessions USING btree (expires_at);
CREATE INDEX dashboard_sessions_of_key ON dashboard_sessions USING btree (key_id);

CREATE TABLE failing_items (
  kind text NOT NULL,
  subject_id text NOT NULL,
  failures integer DEFAULT 1 NOT NULL,
  first_failed_at timestamp with time zone DEFAULT now() NOT NULL,
  last_failed_at timestamp with time zone DEFAULT now() NOT NULL,
  retry_at timestamp with time zone NOT NULL,
  error text NOT NULL,
  CONSTRAINT failing_items_pkey PRIMARY KEY (kind, subject_id)
);

CREATE TABLE files (
  id text NOT NULL,
  account_id text NOT NULL,
  object_key text NOT NULL,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  width integer,
  height integer,
  duration_seconds double precision,
  channels integer,
  purpose text,
  filename text,
  upload_id text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  gone_at timestamp with time zone,
  bytes_deleted_at timestamp with time zone,
  CONSTRAINT files_pkey PRIMARY KEY (id),
  CONSTRAINT files_object_key_key UNIQUE (object_key)
);
CREATE INDEX files_kept_by_account ON files USING btree (account_id, expires_at) INCLUDE (size_bytes) WHERE (gone_at IS NULL);
CREATE INDEX files_listed ON files USING btree (account_id, created_at, id) WHERE ((purpose IS NOT NULL) AND (gone_at IS NULL));
CREATE INDEX files_of_upload ON files USING btree (upload_id) WHERE ((upload_id IS NOT NULL) AND (gone_at IS NULL));
CREATE INDEX files_retained ON files USING btree (expires_at) WHERE (gone_at IS NULL);
CREATE INDEX files_to_delete ON files USING btree (gone_at) WHERE ((gone_at IS NOT NULL) AND (bytes_deleted_at IS NULL));
CREATE INDEX files_to_prune ON files USING btree (bytes_deleted_at) WHERE (bytes_deleted_at IS NOT NULL);

CREATE TABLE installation (
  is_the_one boolean DEFAULT true NOT NULL,
  id text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  store_marked_at timestamp with time zone,
  CONSTRAINT installation_pkey PRIMARY KEY (is_the_one),
  CONSTRAINT installation_is_the_one_check CHECK (is_the_one)
);

CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id text NOT NULL,
  wallet_id text,
  kind text NOT NULL,
  reference text NOT NULL,
  amount_micro_usd bigint NOT NULL,
  available_after_micro_usd bigint NOT NULL,
  held_after_micro_usd bigint NOT NULL,
  key_id text,
  model text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT ledger_entries_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_entries_kind_reference_key UNIQUE (kind, reference),
  CONSTRAINT ledger_entries_kind_check CHECK ((kind = ANY (ARRAY['topup'::text, 'adjustment'::text, 'hold'::text, 'capture'::text, 'release'::text])))
);
CREATE INDEX ledger_entries_by_account ON ledger_entries USING btree (account_id, id);
CREATE INDEX ledger_entries_by_shared_wallet ON ledger_entries USING btree (wallet_id, id) WHERE (wallet_id IS NOT NULL);
CREATE INDEX ledger_entries_usage ON ledger_entries USING btree (account_id, created_at) INCLUDE (amount_micro_usd, key_id, model) WHERE (kind = 'capture'::text);
CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE live_verifications (
  provider text NOT NULL,
  model text NOT NULL,
  route text NOT NULL,
  upstream integer NOT NULL,
  definition_hash text NOT NULL,
  at timestamp with time zone NOT NULL,
  outcome text NOT NULL,
  detail text NOT NULL,
  members text[],
  cost_micro_usd bigint NOT NULL,
  CONSTRAINT live_verifications_pkey PRIMARY KEY (provider, model, route, upstream),
  CONSTRAINT live_verifications_outcome_check CHECK ((outcome = ANY (ARRAY['success'::text, 'fail'::text])))
);

CREATE TABLE model_definitions (
  hash text NOT NULL,
  name text NOT NULL,
  definition jsonb NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT model_definitions_pkey PRIMARY KEY (hash)
);

CREATE TABLE model_files (
  file text NOT NULL,
  hash text NOT NULL,
  content text NOT NULL,
  good_since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT model_files_pkey PRIMARY KEY (file)
);

CREATE TABLE operator_costs (
  task_id text NOT NULL,
  upstream text NOT NULL,
  model text NOT NULL,
  reason text NOT NULL,
  at_most_micro_usd bigint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT operator_costs_pkey PRIMARY KEY (task_id),
  CONSTRAINT operator_costs_at_most_micro_usd_check CHECK ((at_most_micro_usd >= 0))
);
CREATE INDEX operator_costs_by_time ON operator_costs USING btree (created_at);

CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  kind text NOT NULL,
  account_id text NOT NULL,
  subject_id text NOT NULL,
  is_ready boolean NOT NULL,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  deliveries integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT outbox_pkey PRIMARY KEY (id),
  CONSTRAINT outbox_kind_subject_id_key UNIQUE (kind, subject_id),
  CONSTRAINT outbox_kind_check CHECK ((kind = ANY (ARRAY['start_task'::text, 'cancel_task'::text, 'stop_generation'::text, 'deliver_callback'::text, 'promote_output'::text, 'wake_task'::text])))
);
CREATE INDEX outbox_ready ON outbox USING btree (due_at) WHERE is_ready;
CREATE INDEX outbox_waiting ON outbox USING btree (account_id, id) WHERE (NOT is_ready);

CREATE UNLOGGED TABLE output_listeners (
  task_id text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT output_listeners_pkey PRIMARY KEY (task_id)
);
CREATE INDEX output_listeners_by_age ON output_listeners USING btree (created_at);

CREATE UNLOGGED TABLE output_pieces (
  task_id text NOT NULL,
  source text NOT NULL,
  "position" bigint NOT NULL,
  bytes bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT output_pieces_pkey PRIMARY KEY (task_id, source, "position")
);
CREATE INDEX output_pieces_by_age ON output_pieces USING btree (created_at);

CREATE TABLE provider_hooks (
  task_id text NOT NULL,
  upstream text NOT NULL,
  received integer DEFAULT 1 NOT NULL,
  received_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT provider_hooks_pkey PRIMARY KEY (task_id)
);

CREATE TABLE pruned_estimated_calls (
  id text NOT NULL,
  CONSTRAINT pruned_estimated_calls_pkey PRIMARY KEY (id)
);

CREATE TABLE pruned_tasks (
  task_id text NOT NULL,
  account_id text NOT NULL,
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  held_micro_usd bigint NOT NULL,
  captured_micro_usd bigint NOT NULL,
  spend_cap_ids text[],
  created_at timestamp with time zone NOT NULL,
  completed_at timestamp with time zone NOT NULL,
  pruned_at timestamp with time zone DEFAULT now() NOT NULL,
  archive_id bigint NOT NULL,
  CONSTRAINT pruned_tasks_pkey PRIMARY KEY (task_id)
);

CREATE TABLE pruned_text_spend (
  cap_id text NOT NULL,
  day date NOT NULL,
  spent_micro_usd bigint NOT NULL,
  CONSTRAINT pruned_text_spend_pkey PRIMARY KEY (cap_id, day)
);

CREATE TABLE pruning_progress (
  is_only boolean DEFAULT true NOT NULL,
  account_id text,
  created_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
  task_id text DEFAULT ''::text NOT NULL,
  round_ended_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
  CONSTRAINT pruning_progress_pkey PRIMARY KEY (is_only),
  CONSTRAINT pruning_progress_is_only_check CHECK (is_only)
);

CREATE TABLE queue_backlogs (
  is_only boolean DEFAULT true NOT NULL,
  asked_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
  answered_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
  backlogs jsonb,
  CONSTRAINT queue_backlogs_pkey PRIMARY KEY (is_only),
  CONSTRAINT queue_backlogs_is_only_check CHECK (is_only)
);

CREATE UNLOGGED TABLE rate_buckets (
  id text NOT NULL,
  tokens double precision NOT NULL,
  leases jsonb NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT rate_buckets_pkey PRIMARY KEY (id)
);
CREATE INDEX rate_buckets_idle ON rate_buckets USING btree (updated_at);

CREATE TABLE repairs (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  kind text NOT NULL,
  task_id text NOT NULL,
  found text,
  CONSTRAINT repairs_pkey PRIMARY KEY (id)
);
CREATE INDEX repairs_by_time ON repairs USING btree (at, id);
CREATE TRIGGER repairs_append_only BEFORE UPDATE ON repairs FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TABLE response_keys (
  response_id text NOT NULL,
  account_id text NOT NULL,
  fingerprint bytea NOT NULL,
  fingerprint_version smallint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT response_keys_pkey PRIMARY KEY (response_id)
);

CREATE TABLE sign_in_links (
  secret_sha256 bytea NOT NULL,
  key_id text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT sign_in_links_pkey PRIMARY KEY (secret_sha256),
  CONSTRAINT sign_in_links_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
);
CREATE INDEX sign_in_links_by_end ON sign_in_links USING btree (expires_at);

CREATE TABLE spend_caps (
  id text NOT NULL,
  account_id text NOT NULL,
  day_micro_usd bigint,
  total_micro_usd bigint,
  CONSTRAINT spend_caps_pkey PRIMARY KEY (id),
  CONSTRAINT spend_caps_day_micro_usd_check CHECK ((day_micro_usd >= 0)),
  CONSTRAINT spend_caps_total_micro_usd_check CHECK ((total_micro_usd >= 0))
);

CREATE TABLE spend_periods (
  cap_id text NOT NULL,
  period text NOT NULL,
  spent_micro_usd bigint NOT NULL,
  CONSTRAINT spend_periods_pkey PRIMARY KEY (cap_id, period),
  CONSTRAINT spend_periods_spent_micro_usd_check CHECK ((spent_micro_usd >= 0)),
  CONSTRAINT spend_periods_cap_id_fkey FOREIGN KEY (cap_id) REFERENCES spend_caps(id)
);

CREATE TABLE storage_days (
  account_id text NOT NULL,
  day date NOT NULL,
  byte_seconds numeric NOT NULL,
  due_micro_usd bigint NOT NULL,
  paid_micro_usd bigint NOT NULL,
  metered_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT storage_days_pkey PRIMARY KEY (account_id, day),
  CONSTRAINT storage_days_check CHECK (((paid_micro_usd >= 0) AND (paid_micro_usd <= due_micro_usd)))
);
CREATE INDEX storage_days_unpaid ON storage_days USING btree (day, account_id) WHERE (paid_micro_usd < due_micro_usd);

CREATE TABLE storage_periods (
  output_id text NOT NULL,
  account_id text NOT NULL,
  size_bytes bigint NOT NULL,
  began_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  CONSTRAINT storage_periods_pkey PRIMARY KEY (output_id, began_at)
);
CREATE INDEX storage_periods_by_account ON storage_periods USING btree (account_id, began_at);
CREATE INDEX storage_periods_ended ON storage_periods USING btree (account_id, ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX storage_periods_open ON storage_periods USING btree (account_id, began_at) WHERE (ended_at IS NULL);

CREATE TABLE task_archives (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id text NOT NULL,
  object_key text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  tasks integer NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT task_archives_pkey PRIMARY KEY (id),
  CONSTRAINT task_archives_object_key_key UNIQUE (object_key),
  CONSTRAINT task_archives_tasks_check CHECK ((tasks > 0))
);

CREATE TABLE task_costs (
  task_id text NOT NULL,
  account_id text NOT NULL,
  model text NOT NULL,
  upstream text NOT NULL,
  cost_micro_usd bigint,
  source text,
  usage jsonb,
  captured_micro_usd bigint NOT NULL,
  ended_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT task_costs_pkey PRIMARY KEY (task_id),
  CONSTRAINT task_costs_captured_micro_usd_check CHECK ((captured_micro_usd >= 0)),
  CONSTRAINT task_costs_check CHECK (((cost_micro_usd IS NULL) = (source IS NULL))),
  CONSTRAINT task_costs_cost_micro_usd_check CHECK ((cost_micro_usd >= 0))
);
CREATE INDEX task_costs_by_time ON task_costs USING btree (ended_at);

CREATE TABLE task_events (
  task_id text NOT NULL,
  seq integer NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  type text NOT NULL,
  detail jsonb,
  xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
  CONSTRAINT task_events_pkey PRIMARY KEY (task_id, seq)
);
CREATE INDEX task_events_feed ON task_events USING btree (xid);

CREATE TABLE task_inputs (
  task_id text NOT NULL,
  object_key text NOT NULL,
  CONSTRAINT task_inputs_pkey PRIMARY KEY (task_id, object_key)
);
CREATE INDEX task_inputs_by_object ON task_inputs USING btree (object_key);

CREATE TABLE task_metadata (
  account_id text NOT NULL,
  pair bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  task_id text NOT NULL,
  CONSTRAINT task_metadata_pkey PRIMARY KEY (account_id, pair, created_at, task_id)
);

CREATE TABLE tasks (
  id text NOT NULL,
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
  storage text NOT NULL,
  timeout_seconds integer,
  batch_id text,
  price_factor text,
  url_key_id text,
  status text DEFAULT 'queued'::text NOT NULL,
  progress smallint,
  held_micro_usd bigint NOT NULL,
  captured_micro_usd bigint,
  spend_cap_ids text[],
  error_reason text,
  error_field text,
  error_case text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  started_at timestamp with time zone,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  completed_at timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  queue_deadline_at timestamp with time zone NOT NULL,
  deadline_at timestamp with time zone,
  archiving_deadline_at timestamp with time zone,
  erased_at timestamp with time zone,
  input_erased_at timestamp with time zone,
  CONSTRAINT tasks_pkey PRIMARY KEY (id),
  CONSTRAINT tasks_check CHECK (((captured_micro_usd >= 0) AND (captured_micro_usd <= held_micro_usd))),
  CONSTRAINT tasks_check1 CHECK (((status = ANY (ARRAY['success'::text, 'fail'::text])) = (completed_at IS NOT NULL))),
  CONSTRAINT tasks_check2 CHECK (((status = 'fail'::text) = (error_reason IS NOT NULL))),
  CONSTRAINT tasks_check3 CHECK (((status = ANY (ARRAY['success'::text, 'fail'::text])) = (captured_micro_usd IS NOT NULL))),
  CONSTRAINT tasks_error_case_check CHECK (((length(error_case) >= 1) AND (length(error_case) <= 40))),
  CONSTRAINT tasks_error_field_check CHECK (((length(error_field) >= 1) AND (length(error_field) <= 100))),
  CONSTRAINT tasks_held_micro_usd_check CHECK ((held_micro_usd >= 0)),
  CONSTRAINT tasks_progress_check CHECK (((progress >= 0) AND (progress <= 100))),
  CONSTRAINT tasks_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'handling'::text, 'archiving'::text, 'success'::text, 'fail'::text]))),
  CONSTRAINT tasks_storage_check CHECK ((storage = ANY (ARRAY['temp'::text, 'persistent'::text])))
) WITH (fillfactor = 80);
CREATE INDEX tasks_by_account ON tasks USING btree (account_id, created_at DESC, id DESC);
CREATE UNIQUE INDEX tasks_by_idempotency_key ON tasks USING btree (account_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX tasks_by_key ON tasks USING btree (account_id, key_id, created_at DESC NULLS LAST, id DESC NULLS LAST);
CREATE INDEX tasks_by_model ON tasks USING btree (account_id, model, created_at DESC NULLS LAST, id DESC NULLS LAST);
CREATE INDEX tasks_by_time ON tasks USING btree (created_at DESC, id DESC);
CREATE INDEX tasks_failed ON tasks USING btree (created_at DESC, id DESC) WHERE (status = 'fail'::text);
CREATE INDEX tasks_open ON tasks USING btree (created_at, id) WHERE (completed_at IS NULL);
CREATE INDEX tasks_open_by_account ON tasks USING btree (account_id, created_at DESC NULLS LAST, id DESC NULLS LAST) WHERE (completed_at IS NULL);
CREATE INDEX tasks_over_by_status ON tasks USING btree (account_id, status, created_at DESC NULLS LAST, id DESC NULLS LAST) WHERE (completed_at IS NOT NULL);
CREATE INDEX tasks_with_input ON tasks USING btree (completed_at) WHERE ((completed_at IS NOT NULL) AND (input IS NOT NULL));

CREATE TABLE generations (
  task_id text NOT NULL,
  upstream text NOT NULL,
  place smallint DEFAULT 0 NOT NULL,
  state text NOT NULL,
  job_id text,
  files jsonb,
  cost_micro_usd bigint,
  cost_source text,
  usage jsonb,
  awaited_by text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT generations_pkey PRIMARY KEY (task_id),
  CONSTRAINT generations_check CHECK (((state = 'produced'::text) = (files IS NOT NULL))),
  CONSTRAINT generations_place_check CHECK ((place >= 0)),
  CONSTRAINT generations_state_check CHECK ((state = ANY (ARRAY['intent'::text, 'submitted'::text, 'produced'::text]))),
  CONSTRAINT generations_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id)
);

CREATE TABLE outputs (
  id text NOT NULL,
  task_id text NOT NULL,
  account_id text NOT NULL,
  model text NOT NULL,
  "position" integer NOT NULL,
  type text NOT NULL,
  object_key text NOT NULL,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  width integer,
  height integer,
  duration_seconds double precision,
  storage_tier text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  retain_until timestamp with time zone,
  pending_since timestamp with time zone,
  gone_at timestamp with time zone,
  gone_reason text,
  bytes_deleted_at timestamp with time zone,
  CONSTRAINT outputs_pkey PRIMARY KEY (id),
  CONSTRAINT outputs_task_id_position_key UNIQUE (task_id, "position"),
  CONSTRAINT outputs_gone_reason_check CHECK ((gone_reason = ANY (ARRAY['deleted'::text, 'expired'::text]))),
  CONSTRAINT outputs_storage_tier_check CHECK ((storage_tier = ANY (ARRAY['temp'::text, 'persistent'::text]))),
  CONSTRAINT outputs_task_id_fkey FOREIGN KEY (task_id) REFERENCES tasks(id)
);
CREATE INDEX outputs_by_account ON outputs USING btree (account_id, created_at DESC, id DESC);
CREATE INDEX outputs_by_object ON outputs USING btree (object_key);
CREATE INDEX outputs_kept ON outputs USING btree (account_id, created_at DESC, id DESC) WHERE (gone_at IS NULL);
CREATE INDEX outputs_pending ON outputs USING btree (pending_since) WHERE (pending_since IS NOT NULL);
CREATE INDEX outputs_persistent ON outputs USING btree (account_id, created_at DESC, id DESC) WHERE ((gone_at IS NULL) AND (storage_tier = 'persistent'::text));
CREATE INDEX outputs_retained ON outputs USING btree (retain_until) WHERE ((retain_until IS NOT NULL) AND (gone_at IS NULL));
CREATE INDEX outputs_to_delete ON outputs USING btree (gone_at) WHERE ((gone_at IS NOT NULL) AND (bytes_deleted_at IS NULL));

CREATE TABLE text_call_archives (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  object_key text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  calls integer NOT NULL,
  first_created_at timestamp with time zone NOT NULL,
  last_created_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT text_call_archives_pkey PRIMARY KEY (id),
  CONSTRAINT text_call_archives_object_key_key UNIQUE (object_key),
  CONSTRAINT text_call_archives_calls_check CHECK ((calls > 0))
);

CREATE TABLE text_call_end_users (
  call_id text NOT NULL,
  account_id text NOT NULL,
  end_user text NOT NULL,
  CONSTRAINT text_call_end_users_pkey PRIMARY KEY (call_id)
);
CREATE INDEX text_call_end_users_by_user ON text_call_end_users USING btree (account_id, end_user);

CREATE TABLE text_calls (
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  settled_at timestamp with time zone,
  held_micro_usd bigint NOT NULL,
  floor_micro_usd bigint NOT NULL,
  captured_micro_usd bigint,
  due_micro_usd bigint,
  process_id uuid,
  input_tokens integer NOT NULL,
  cached_input_tokens integer,
  output_tokens integer,
  reasoning_tokens integer,
  is_stored boolean NOT NULL,
  is_estimated boolean DEFAULT false NOT NULL,
  id text NOT NULL,
  account_id text NOT NULL,
  key_id text,
  model text,
  spend_cap_ids text[],
  outcome text,
  error_reason text,
  upstream text,
  CONSTRAINT text_calls_pkey PRIMARY KEY (id),
  CONSTRAINT text_calls_check CHECK (((floor_micro_usd >= 0) AND (floor_micro_usd <= held_micro_usd))),
  CONSTRAINT text_calls_check1 CHECK (((captured_micro_usd >= 0) AND (captured_micro_usd <= held_micro_usd))),
  CONSTRAINT text_calls_check2 CHECK (((settled_at IS NULL) = (captured_micro_usd IS NULL))),
  CONSTRAINT text_calls_check3 CHECK (((settled_at IS NOT NULL) OR (process_id IS NOT NULL))),
  CONSTRAINT text_calls_check4 CHECK ((((process_id IS NULL) = (key_id IS NULL)) AND ((process_id IS NULL) = (model IS NULL)))),
  CONSTRAINT text_calls_due_above_hold CHECK ((due_micro_usd > held_micro_usd)),
  CONSTRAINT text_calls_held_micro_usd_check CHECK ((held_micro_usd >= 0))
) WITH (fillfactor = 80);
CREATE INDEX text_calls_by_time ON text_calls USING btree (created_at DESC, id DESC);
CREATE INDEX text_calls_failed ON text_calls USING btree (created_at DESC, id DESC) WHERE (outcome = 'failed'::text);
CREATE INDEX text_calls_open ON text_calls USING btree (process_id) WHERE (settled_at IS NULL);

CREATE TABLE text_processes (
  id uuid NOT NULL,
  leased_until timestamp with time zone NOT NULL,
  unbroken_since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT text_processes_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);

CREATE TABLE text_pruning_progress (
  is_only boolean DEFAULT true NOT NULL,
  block bigint,
  round_ended_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
  CONSTRAINT text_pruning_progress_pkey PRIMARY KEY (is_only),
  CONSTRAINT text_pruning_progress_block_check CHECK ((block >= 0)),
  CONSTRAINT text_pruning_progress_is_only_check CHECK (is_only)
);

CREATE TABLE text_responses (
  id text NOT NULL,
  account_id text NOT NULL,
  previous_id text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  response json,
  input json,
  output json,
  deltas json,
  bytes integer NOT NULL,
  deleted_at timestamp with time zone,
  CONSTRAINT text_responses_pkey PRIMARY KEY (id),
  CONSTRAINT text_responses_bytes_check CHECK ((bytes >= 0)),
  CONSTRAINT text_responses_check CHECK ((num_nulls(response, input, output) =
CASE
    WHEN (deleted_at IS NULL) THEN 0
    ELSE 3
END))
);
CREATE INDEX text_responses_by_expiry ON text_responses USING btree (expires_at);

CREATE TABLE token_origins (
  origin text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  token_id text NOT NULL,
  CONSTRAINT token_origins_pkey PRIMARY KEY (origin, expires_at, token_id)
);
CREATE INDEX token_origins_by_age ON token_origins USING btree (expires_at);

CREATE TABLE tokens (
  id text NOT NULL,
  key_id text NOT NULL,
  account_id text NOT NULL,
  secret_sha256 bytea NOT NULL,
  scopes text[] NOT NULL,
  models text[],
  origins text[],
  is_capped boolean NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT tokens_pkey PRIMARY KEY (id)
);
CREATE INDEX tokens_by_account ON tokens USING btree (account_id, expires_at);
CREATE INDEX tokens_by_age ON tokens USING btree (expires_at) WHERE (NOT is_capped);
CREATE INDEX tokens_capped_by_age ON tokens USING btree (expires_at) WHERE is_capped;

CREATE TABLE uploads (
  id text NOT NULL,
  account_id text NOT NULL,
  filename text NOT NULL,
  purpose text NOT NULL,
  size_bytes bigint NOT NULL,
  kept_seconds integer NOT NULL,
  status text DEFAULT 'pending'::text NOT NULL,
  file_id text,
  completing_until timestamp with time zone,
  hashed_parts text,
  hashed_md5 text,
  hashings integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT uploads_pkey PRIMARY KEY (id),
  CONSTRAINT uploads_check CHECK (((status = 'completed'::text) = (file_id IS NOT NULL))),
  CONSTRAINT uploads_size_bytes_check CHECK ((size_bytes > 0)),
  CONSTRAINT uploads_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'completed'::text, 'cancelled'::text])))
);
CREATE INDEX uploads_by_expiry ON uploads USING btree (expires_at);
CREATE INDEX uploads_completing ON uploads USING btree (account_id) WHERE (completing_until IS NOT NULL);

CREATE TABLE upstream_settings (
  name text NOT NULL,
  secret_ciphertext bytea,
  base_url text,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT upstream_settings_pkey PRIMARY KEY (name),
  CONSTRAINT upstream_settings_check CHECK (((secret_ciphertext IS NOT NULL) OR (base_url IS NOT NULL)))
);

CREATE TABLE upstream_slots (
  upstream text NOT NULL,
  task_id text NOT NULL,
  account_id text,
  taken_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT upstream_slots_pkey PRIMARY KEY (upstream, task_id)
);
CREATE INDEX upstream_slots_by_task ON upstream_slots USING btree (task_id);

CREATE TABLE upstream_states (
  upstream text NOT NULL,
  slots_taken integer DEFAULT 0 NOT NULL,
  cap integer,
  cap_since timestamp with time zone,
  cap_published_at timestamp with time zone,
  paused_until timestamp with time zone,
  pause_reason text,
  failures integer DEFAULT 0 NOT NULL,
  failing_since timestamp with time zone,
  open_until timestamp with time zone,
  drained_at timestamp with time zone,
  answered_at timestamp with time zone,
  credential_problem text,
  CONSTRAINT upstream_states_pkey PRIMARY KEY (upstream),
  CONSTRAINT upstream_states_slots_taken_check CHECK ((slots_taken >= 0))
);

CREATE TABLE upstream_turns (
  upstream text NOT NULL,
  account_id text NOT NULL,
  turn bigint DEFAULT nextval('upstream_turn_numbers'::regclass) NOT NULL,
  CONSTRAINT upstream_turns_pkey PRIMARY KEY (upstream, account_id)
);

CREATE TABLE upstream_waits (
  upstream text NOT NULL,
  task_id text NOT NULL,
  account_id text NOT NULL,
  since timestamp with time zone NOT NULL,
  cap integer NOT NULL,
  CONSTRAINT upstream_waits_pkey PRIMARY KEY (upstream, task_id),
  CONSTRAINT upstream_waits_cap_check CHECK ((cap > 0))
);
CREATE INDEX upstream_waits_in_order ON upstream_waits USING btree (upstream, account_id, since, task_id);

CREATE TABLE webhook_keys (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id text NOT NULL,
  secret_ciphertext bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  CONSTRAINT webhook_keys_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id)
);
CREATE INDEX webhook_keys_by_account ON webhook_keys USING btree (account_id, id DESC);

CREATE TABLE worker_processes (
  id text NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT worker_processes_pkey PRIMARY KEY (id)
);
