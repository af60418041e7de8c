-- Up Migration

-- The beginning of a file that is still being generated, for a client that receives it meanwhile
-- (src/tasks/record/output-pieces.ts). Nothing depends on these rows: the client gets from the stored file what it did
-- not get from here. They are unlogged, because they live for seconds and are of no use after a crash.
CREATE UNLOGGED TABLE output_listeners (
  task_id text PRIMARY KEY,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- `source` is the attempt that generates the file, and `position` the position of the piece in it, in bytes.
CREATE UNLOGGED TABLE output_pieces (
  task_id text NOT NULL,
  source text NOT NULL,
  position bigint NOT NULL,
  bytes bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (task_id, source, position)
);
CREATE INDEX output_listeners_by_age ON output_listeners (created_at);
CREATE INDEX output_pieces_by_age ON output_pieces (created_at);
