-- Up Migration (no transaction)

-- What a call cost by its upstream's report, where that is more than was held for it: the hold was captured, and the rest
-- stands in `operator_costs` as `hold_exceeded`. Null for all other calls, and for those that processes of the release
-- before settle.
ALTER TABLE text_calls ADD COLUMN IF NOT EXISTS due_micro_usd bigint;
ALTER TABLE text_calls DROP CONSTRAINT IF EXISTS text_calls_due_above_hold;
ALTER TABLE text_calls ADD CONSTRAINT text_calls_due_above_hold CHECK (due_micro_usd > held_micro_usd) NOT VALID;
ALTER TABLE text_calls VALIDATE CONSTRAINT text_calls_due_above_hold;
