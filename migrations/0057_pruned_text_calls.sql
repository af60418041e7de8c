-- Up Migration

-- Text calls are pruned like tasks (docs/decisions/0026). What remains of one is its entries in the ledger, and these.

-- The objects to which calls were exported before they were deleted. A call is in one whose times contain its own.
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

-- What pruned calls counted against a spend cap, by the UTC day of their hold: `ledger verify` compares the sum with
-- `spend_periods`.
CREATE TABLE pruned_text_spend (
  cap_id text NOT NULL,
  day date NOT NULL,
  spent_micro_usd bigint NOT NULL,
  PRIMARY KEY (cap_id, day)
);

-- Pruned calls whose tokens were counted here: the account's ledger says so of their captures.
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
