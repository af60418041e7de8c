-- Up Migration

-- Why some lines of a batch wait at this moment (src/batches/advance.ts).
ALTER TABLE batches ADD COLUMN waiting_for text;
