-- Up Migration

-- The attempts of all of an account's callbacks, newest first (src/callbacks/list-attempts.ts). A worker of the version
-- before, which still runs while this one is rolled out, writes attempts without an account: they stand in the list of
-- their task alone.
ALTER TABLE callback_attempts ADD COLUMN account_id text;
UPDATE callback_attempts a SET account_id = c.account_id FROM callbacks c WHERE c.task_id = a.task_id;
CREATE INDEX callback_attempts_by_account ON callback_attempts (account_id, started_at DESC, task_id DESC);
