-- Up Migration

-- The content that each file of MODELS_DIR had when it last had no problem (src/catalogue/last-good-files.ts): an api
-- that starts while the file has one offers this.
CREATE TABLE model_files (
  file text PRIMARY KEY,
  hash text NOT NULL,
  content text NOT NULL,
  good_since timestamptz NOT NULL DEFAULT now()
);
