-- Up Migration

-- What the inspection found of a file (src/objects/uploads.ts): the size upright, in pixels, and the measured length.
-- Null for files that have none, and for those of earlier releases.
ALTER TABLE files
  ADD COLUMN width integer,
  ADD COLUMN height integer,
  ADD COLUMN duration_seconds double precision,
  ADD COLUMN channels integer;
