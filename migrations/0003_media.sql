-- Part 3: models and media.

-- How much of the work is done, in percent, where it is known; written at each tenth at most (src/tasks/progress.ts).
ALTER TABLE tasks ADD COLUMN progress smallint CHECK (progress BETWEEN 0 AND 100);

-- Which of its route's upstreams has a task's generation, counted from 0.
ALTER TABLE generations ADD COLUMN place smallint NOT NULL DEFAULT 0 CHECK (place >= 0);

-- What all workers know of an upstream (src/upstreams/): how many of its slots are taken, until when it asked to be left
-- alone, and whether it fails.
CREATE TABLE upstream_states (
  upstream text PRIMARY KEY,
  -- The number of its rows in `upstream_slots`; both change in one statement.
  slots_taken integer NOT NULL DEFAULT 0 CHECK (slots_taken >= 0),
  paused_until timestamptz,
  -- Failures in a row, and when the first of them was.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- Set while the breaker is open; once it has passed, one task may try.
  open_until timestamptz
);

-- A task that has, or is about to have, a job at an upstream whose jobs are capped.
CREATE TABLE upstream_slots (
  upstream text NOT NULL,
  task_id text NOT NULL,
  taken_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (upstream, task_id)
);
CREATE INDEX upstream_slots_by_task ON upstream_slots (task_id);

-- How often a provider has called back about a task that is not over. A hint and no more: nothing of what it said is kept.
CREATE TABLE provider_hooks (
  task_id text PRIMARY KEY,
  upstream text NOT NULL,
  received integer NOT NULL DEFAULT 1,
  received_at timestamptz NOT NULL DEFAULT now()
);
