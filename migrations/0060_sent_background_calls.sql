-- Up Migration

-- An attempt at a text call in the background belongs to a process, and is alive as long as that has its lease
-- (`text_processes`): no other one begins meanwhile. `is_sent`: a request of it may have reached an upstream that bills
-- it, so that repeating it may be paid twice.
ALTER TABLE background_calls
  ADD COLUMN process_id uuid,
  ADD COLUMN is_sent boolean NOT NULL DEFAULT false;
