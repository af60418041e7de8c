-- Up Migration

-- Whether a worker records the waits that it begins, as earlier releases do not: nothing follows from their silence.
ALTER TABLE worker_processes ADD COLUMN records_waits boolean NOT NULL DEFAULT false;
