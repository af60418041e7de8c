-- Up Migration

-- The last run of each upstream of a model against the real service of its provider (src/catalogue/live-verifications.ts).
-- `upstream` is its index in the route. The result counts for the definition with that hash alone. `members` are the
-- names of the members of the provider's last answer in the last successful run; null: there was none.
-- `cost_micro_usd` is what the run cost at most.
CREATE TABLE live_verifications (
  provider text NOT NULL,
  model text NOT NULL,
  route text NOT NULL,
  upstream integer NOT NULL,
  definition_hash text NOT NULL,
  at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('success', 'fail')),
  detail text NOT NULL,
  members text[],
  cost_micro_usd bigint NOT NULL,
  PRIMARY KEY (provider, model, route, upstream)
);
