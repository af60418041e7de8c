-- Up Migration

-- How the text of a streamed response was cut into deltas (src/text/responses/delta-cuts.ts), so that streaming it again
-- gives its events the numbers that they had. Null where it was not streamed, and once it is deleted.
ALTER TABLE text_responses ADD COLUMN deltas json;
