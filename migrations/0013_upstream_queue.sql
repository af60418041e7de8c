-- Up Migration

-- Tasks that wait for a slot of an upstream whose jobs are capped (src/upstreams/queue.ts). A row ends with its task.
CREATE TABLE upstream_waits (
  upstream text NOT NULL,
  account_id text NOT NULL,
  -- Since when the task is handled: a task that gave its slot back and comes again is where it was.
  since timestamptz NOT NULL,
  task_id text NOT NULL,
  -- As its model has it: models may cap the same upstream differently.
  cap integer NOT NULL CHECK (cap > 0),
  PRIMARY KEY (upstream, task_id)
);
CREATE INDEX upstream_waits_in_order ON upstream_waits (upstream, account_id, since, task_id);

CREATE SEQUENCE upstream_turn_numbers;

-- Whose turn it is at an upstream: the account with the lowest number was let in, or began to wait, longest ago.
CREATE TABLE upstream_turns (
  upstream text NOT NULL,
  account_id text NOT NULL,
  turn bigint NOT NULL DEFAULT nextval('upstream_turn_numbers'),
  PRIMARY KEY (upstream, account_id)
);

-- Null for slots that were taken by processes of before.
ALTER TABLE upstream_slots ADD COLUMN account_id text;
