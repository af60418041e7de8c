-- Up Migration

-- Tasks whose creator waits for the result on its connection, without an Idempotency-Key
-- (src/tasks/create/awaited-responses.ts). An automatic retry of such a request finds its task here by account, key and
-- fingerprint. `waiter` is the request that waits; null: its client has disconnected. `retries` have attached so far.
-- `sent_to` is the request that gets the result; `received_at` is when its response was sent completely.
CREATE TABLE awaited_responses (
  task_id text PRIMARY KEY,
  account_id text NOT NULL,
  key_id text NOT NULL,
  fingerprint bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  waiter text,
  retries integer NOT NULL DEFAULT 0,
  sent_to text,
  received_at timestamptz
);
CREATE INDEX awaited_responses_by_request ON awaited_responses (account_id, key_id, fingerprint, created_at);
CREATE INDEX awaited_responses_by_age ON awaited_responses (created_at);
