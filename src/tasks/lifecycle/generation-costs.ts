/**
 * What a task's work costs, as it is recorded with its generation: by the statements that record a job or files
 * (transitions.ts), and here where there are none. The settlement copies it (src/billing/task-costs.ts).
 */
import type { Queryable, Statement } from '../../database/database.ts';
import type { Consumption, ProviderUsage, WorkCost } from '../../domain/provider-usage.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';

/** The index of the upstream in its route. */
interface Position {
  readonly upstreamIndex: number;
}

/** The columns `cost_micro_usd`, `cost_source` and `usage` of a generation. */
export function costValues({ cost, usage }: WorkCost): readonly [bigint | null, string | null, string | null] {
  return [cost?.microUsd ?? null, cost?.source ?? null, usage === undefined ? null : JSON.stringify(usage)];
}

const updateCost: Statement = {
  name: 'record_generation_cost',
  text: `UPDATE generations SET cost_micro_usd = $3, cost_source = $4, usage = $5::jsonb
          WHERE task_id = $1 AND place = $2 AND state <> 'produced'`,
};

/** Records what the provider says about the cost of work that ended without files. */
export async function recordCost(
  database: Queryable,
  taskId: TaskId,
  { upstreamIndex }: Position,
  work: WorkCost,
): Promise<void> {
  await database.query(updateCost, [taskId, upstreamIndex, ...costValues(work)]);
}

const selectReported: Statement = {
  name: 'select_generation_consumption',
  text: `SELECT usage, CASE WHEN cost_source = 'reported' THEN cost_micro_usd END AS "costMicroUsd"
           FROM generations WHERE task_id = $1 AND place = $2 AND state = 'submitted'`,
};

/** What the upstream of a job has said so far about what it consumes. */
export async function readReported(
  database: Queryable,
  taskId: TaskId,
  { upstreamIndex }: Position,
): Promise<Consumption> {
  const [row] = await database.query<{ usage: ProviderUsage | null; costMicroUsd: bigint | null }>(selectReported, [
    taskId,
    upstreamIndex,
  ]);
  return {
    ...(row === undefined || row.usage === null ? {} : { usage: row.usage }),
    ...(row === undefined || row.costMicroUsd === null ? {} : { costMicroUsd: row.costMicroUsd }),
  };
}

const selectUsage: Statement = {
  name: 'select_generation_usage',
  text: 'SELECT usage FROM generations WHERE task_id = $1',
};

/** What the provider said that the task's work consumed; undefined: nothing. */
export async function readGenerationUsage(database: Queryable, taskId: TaskId): Promise<ProviderUsage | undefined> {
  const [row] = await database.query<{ usage: ProviderUsage | null }>(selectUsage, [taskId]);
  return row?.usage ?? undefined;
}
