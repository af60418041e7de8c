-- Up Migration

-- When `migrate` had deleted the schedules by the names that they had in every installation (docs/decisions/0006); null: not yet.
-- Once, because a neighbour of an earlier release makes its own by these names. Without meaning where had_shared_names is
-- false: such an installation never had any.
ALTER TABLE installation ADD COLUMN former_schedules_retired_at timestamptz;
