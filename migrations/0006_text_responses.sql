-- Up Migration

-- Stored responses (src/text/responses/stored-responses.ts): one row each, written once, when its call is over. A call
-- that is not over has a row in `text_calls` and none here.
CREATE TABLE text_responses (
  id text PRIMARY KEY,
  account_id text NOT NULL,
  -- The response that it continues.
  previous_id text,
  created_at timestamptz NOT NULL,
  -- From then on it is not found.
  expires_at timestamptz NOT NULL,
  -- The response object as it was answered, its output apart from it, and the items of its own input; null once it is
  -- deleted. `json`, as nothing looks inside, and `jsonb` cannot keep U+0000.
  response json,
  input json,
  output json,
  -- Of the three, as they were written.
  bytes integer NOT NULL CHECK (bytes >= 0),
  deleted_at timestamptz,
  CHECK (num_nulls(response, input, output) = CASE WHEN deleted_at IS NULL THEN 0 ELSE 3 END)
);
CREATE INDEX text_responses_by_expiry ON text_responses (expires_at);
