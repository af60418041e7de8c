-- Up Migration

-- How many jobs may be under way at an upstream at once, as an api says whose models go there
-- (src/upstreams/published-caps.ts); `cap` is null where there may be any number. `cap_since`: when that api took its
-- models up. `cap_published_at`: when it last said so. All null where none has: then each task's own definition counts.
ALTER TABLE upstream_states
  ADD COLUMN cap integer,
  ADD COLUMN cap_since timestamptz,
  ADD COLUMN cap_published_at timestamptz;
