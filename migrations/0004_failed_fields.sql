-- Which field of its input a task failed for, and what is wrong with it (src/domain/input-fault.ts). Written by the
-- activity that knows, before it fails. A path of the model's schema and a word of a closed list, nothing of the input.
ALTER TABLE tasks
  ADD COLUMN error_field text CHECK (length(error_field) BETWEEN 1 AND 100),
  ADD COLUMN error_case text CHECK (length(error_case) BETWEEN 1 AND 40);
