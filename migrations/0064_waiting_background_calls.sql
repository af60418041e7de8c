-- Up Migration

-- Why the last attempt at a text call in the background was put off (src/text/background/run.ts).
ALTER TABLE background_calls ADD COLUMN waiting_for text;
