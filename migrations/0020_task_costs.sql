-- Up Migration

-- What a generation costs the operator (src/generation/work-cost.ts), recorded together with its files: the amount, null
-- where it is not known; how it is known; and what the provider reports that the work used.
ALTER TABLE generations
  ADD COLUMN cost_micro_usd bigint,
  ADD COLUMN cost_source text,
  ADD COLUMN usage jsonb;

-- The same of every task that has ended and whose work an upstream had, with what its owner paid: the margin report
-- (src/billing/task-costs.ts). Written by the settlement, and never changed.
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
