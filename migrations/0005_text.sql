-- Up Migration

-- Part 4: text models (src/text/). A text call never touches Temporal: it is held, answered and settled by one api
-- process, and by any other one where that process dies.

-- Limits of an account, beside its others. Rates are read with its keys; the cap stands where it is judged.
ALTER TABLE accounts
  ADD COLUMN text_requests_per_minute integer NOT NULL DEFAULT 600 CHECK (text_requests_per_minute > 0),
  ADD COLUMN text_tokens_per_minute integer NOT NULL DEFAULT 1000000 CHECK (text_tokens_per_minute > 0);
-- `text_streams`: text calls that are held and not settled, of all processes together.
ALTER TABLE account_counters
  ADD COLUMN text_streams integer NOT NULL DEFAULT 0 CHECK (text_streams >= 0),
  ADD COLUMN text_streams_cap integer NOT NULL DEFAULT 100 CHECK (text_streams_cap >= 0);

-- Api processes that answer text calls. One whose lease is over by this database's clock is taken to be dead; its calls
-- are settled by another (src/text/money/sweep.ts). `unbroken_since`: since when its lease never ran out.
CREATE TABLE text_processes (
  id uuid PRIMARY KEY,
  leased_until timestamptz NOT NULL,
  unbroken_since timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- One row per text call, written by its hold and once more by its settlement; its id is the ledger's reference. The row
-- is narrow, because every call writes it twice: what was asked and answered is nowhere. The settlement takes a row out
-- of the index of open ones, and so is no heap-only update; the other way would be a second table, which costs more.
--
-- A row without `process_id` is no call. It takes the place of one whose hold was sent and never confirmed, so that the
-- hold, should it come late, is refused by the primary key (src/text/money/text-ledger.ts).
CREATE TABLE text_calls (
  created_at timestamptz NOT NULL DEFAULT now(),
  settled_at timestamptz,
  held_micro_usd bigint NOT NULL CHECK (held_micro_usd >= 0),
  -- What is captured where its process dies: the input alone.
  floor_micro_usd bigint NOT NULL CHECK (floor_micro_usd BETWEEN 0 AND held_micro_usd),
  captured_micro_usd bigint CHECK (captured_micro_usd BETWEEN 0 AND held_micro_usd),
  process_id uuid,
  -- As it was counted before the call; from the settlement on as it was billed, like the others.
  input_tokens integer NOT NULL,
  cached_input_tokens integer,
  output_tokens integer,
  reasoning_tokens integer,
  -- Its answer is kept as a stored response.
  is_stored boolean NOT NULL,
  -- Tokens were counted here, and not reported by whoever answered.
  is_estimated boolean NOT NULL DEFAULT false,
  id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text,
  model text,
  spend_cap_ids text[],
  CHECK ((settled_at IS NULL) = (captured_micro_usd IS NULL)),
  CHECK (settled_at IS NOT NULL OR process_id IS NOT NULL),
  CHECK ((process_id IS NULL) = (key_id IS NULL) AND (process_id IS NULL) = (model IS NULL))
) WITH (fillfactor = 80);
-- What is not settled, by the process that has to: a few entries, however many calls there were.
CREATE INDEX text_calls_open ON text_calls (process_id) WHERE settled_at IS NULL;
