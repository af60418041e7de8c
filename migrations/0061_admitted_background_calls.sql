-- Up Migration

-- The queue of an account's text calls in the background: those that are not admitted wait, in their order of arrival
-- (docs/decisions/0023). Calls of earlier releases, and of their processes that still run, are admitted.
ALTER TABLE background_calls ADD COLUMN is_admitted boolean NOT NULL DEFAULT true;
