-- Up Migration

-- Whom a text call was for: `user` or `safety_identifier` of its request. Of a task, it is `user` in the metadata.
CREATE TABLE text_call_end_users (
  call_id text PRIMARY KEY,
  account_id text NOT NULL,
  end_user text NOT NULL
);
CREATE INDEX text_call_end_users_by_user ON text_call_end_users (account_id, end_user);
