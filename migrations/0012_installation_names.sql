-- Up Migration

-- True for an installation that was made before its id was part of the names of its task queues and schedules: its
-- workers serve the former names as well, as long as there is work of theirs (docs/decisions/0006). New ones are false.
ALTER TABLE installation ADD COLUMN had_shared_names boolean NOT NULL DEFAULT true;

-- Of an installation that is made from now on.
ALTER TABLE installation ALTER COLUMN had_shared_names SET DEFAULT false;
