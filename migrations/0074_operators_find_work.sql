-- Up Migration (no transaction)

-- How a text call ended, for operators (src/text/money/list-calls.ts): null where a process of an earlier release ended it.
ALTER TABLE text_calls ADD COLUMN IF NOT EXISTS outcome text, ADD COLUMN IF NOT EXISTS error_reason text,
  ADD COLUMN IF NOT EXISTS upstream text;

-- Tasks and text calls of all accounts, newest first, and those among them that failed.
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_by_time ON tasks (created_at DESC, id DESC);
CREATE INDEX CONCURRENTLY IF NOT EXISTS tasks_failed ON tasks (created_at DESC, id DESC) WHERE status = 'fail';
CREATE INDEX CONCURRENTLY IF NOT EXISTS text_calls_by_time ON text_calls (created_at DESC, id DESC);
CREATE INDEX CONCURRENTLY IF NOT EXISTS text_calls_failed ON text_calls (created_at DESC, id DESC)
  WHERE outcome = 'failed';
