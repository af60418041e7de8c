-- Up Migration

-- Which signing key the URLs have that a task's providers are given, by its name (src/files/url-keys.ts): the one that
-- was current when the task was begun. Null: not begun yet, or nobody wrote it down.
ALTER TABLE tasks ADD COLUMN url_key_id text;
