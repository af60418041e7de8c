/**
 * The one settlement of a task: one transaction that ends it for ever, with its outputs, its money, its running slot,
 * its event and its callback's outbox row. Every path of a task ends here; the first to arrive decides, and all
 * others get what was decided (architecture, "One settlement").
 */
import { settle as settleHold } from '../../billing/ledger.ts';
import { bookOperatorCost } from '../../billing/operator-costs.ts';
import { recordTaskCost } from '../../billing/task-costs.ts';
import { releaseSpendCaps } from '../../billing/spend-caps.ts';
import { insertTaskOutputs } from '../../objects/outputs/outputs.ts';
import { reservePersistentBytes } from '../../objects/outputs/storage-cap.ts';
import type { ArchivedOutput } from '../../domain/archived-output.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { TaskStatus, TerminalStatus } from '../../domain/task-status.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { SettledTask } from '../../telemetry/metrics-tasks.ts';
import { INSERT_EVENTS, addEvent, eventValues } from '../record/timeline.ts';
import type { NewEvent } from '../record/timeline.ts';

/** The outcome with which a task should end. */
export type Verdict =
  | { readonly status: 'success'; readonly outputs: readonly ArchivedOutput[]; readonly capturedMicroUsd: bigint }
  | {
      readonly status: 'fail';
      readonly reason: FailureReason;
      /** The cost of a cancelled task for its owner, at most the hold (contract §4). Absent: 0. */
      readonly capturedMicroUsd?: bigint;
      /** The amount that the provider charges, if it is known. Absent: up to the hold. */
      readonly billedMicroUsd?: bigint;
      /** The same, only if the provider itself says so. */
      readonly reportedMicroUsd?: bigint;
    };

/** The outcome with which a task ended, whichever path decided it. */
export interface Outcome {
  readonly status: TerminalStatus;
  readonly reason: FailureReason | null;
}

export interface SettleOptions {
  readonly retentionDays: number;
  /** Settle only a task in one of these states; undefined: in any that is not terminal. */
  readonly onlyFrom?: readonly TaskStatus[];
  /** Settle only a task whose row was last changed then (`IdleTask.updatedAt`); undefined: whenever it was. */
  readonly unchangedSince?: string | undefined;
  /** Called with what was ended, for the metrics. Before the commit: after a rollback and retry it is called twice. */
  readonly onSettled?: ((task: SettledTask) => void) | undefined;
}

interface SettledRow {
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly heldMicroUsd: bigint;
  readonly capturedMicroUsd: bigint;
  readonly storage: 'temp' | 'persistent';
  readonly spendCapIds: readonly string[] | null;
  /** The UTC day of the hold. */
  readonly heldOn: string;
  readonly wasStarted: boolean;
  readonly queuedSeconds: number;
  readonly archivingSeconds: number | null;
  readonly totalSeconds: number;
}

const closeTask: Statement = {
  name: 'close_task',
  text: `UPDATE tasks
            SET status = $2, error_reason = $3, captured_micro_usd = least($4::bigint, held_micro_usd),
                completed_at = now(), updated_at = now()
          WHERE id = $1 AND completed_at IS NULL AND ($5::text[] IS NULL OR status = ANY ($5))
            AND ($6::timestamptz IS NULL OR updated_at = $6)
      RETURNING account_id AS "accountId", key_id AS "keyId", model, held_micro_usd AS "heldMicroUsd",
                captured_micro_usd AS "capturedMicroUsd", storage, spend_cap_ids AS "spendCapIds",
                to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS "heldOn",
                started_at IS NOT NULL AS "wasStarted",
                extract(epoch FROM coalesce(started_at, completed_at) - created_at)::float8 AS "queuedSeconds",
                extract(epoch FROM completed_at - (SELECT min(e.at) FROM task_events e
                                                    WHERE e.task_id = tasks.id AND e.type = 'archiving'))::float8
                  AS "archivingSeconds",
                extract(epoch FROM completed_at - created_at)::float8 AS "totalSeconds"`,
};

/** Over the storage cap (contract §5): the task shows what became of its outputs. */
const fallBackToTemp: Statement = {
  name: 'fall_back_to_temp',
  text: `UPDATE tasks SET storage = 'temp' WHERE id = $1`,
};

/**
 * All that ends with a task but its outputs and its money. A statement of its own: only one that begins when the task's
 * row is locked sees the events that another writer has added to it.
 *
 * A start that was not launched yet is removed with the task: it will not run, and has no running slot to release.
 */
const recordEnd: Statement = {
  name: 'record_end',
  text: `WITH dropped AS (
           DELETE FROM outbox WHERE subject_id = $1 AND kind IN ('start_task', 'cancel_task')
        RETURNING kind = 'start_task' AND NOT is_ready AS was_queued),
         ended AS (${INSERT_EVENTS}),
         pending AS (
           UPDATE callbacks SET state = 'pending', next_attempt_at = now() WHERE task_id = $1 AND state = 'waiting'
        RETURNING task_id, account_id),
         delivery AS (
           INSERT INTO outbox (kind, account_id, subject_id, is_ready)
           SELECT 'deliver_callback', account_id, task_id, true FROM pending
           ON CONFLICT (kind, subject_id) DO NOTHING)
         SELECT coalesce(bool_or(was_queued), false) AS "wasQueued" FROM dropped`,
};

const selectOutcome: Statement = {
  name: 'select_outcome',
  text: 'SELECT status, error_reason AS reason FROM tasks WHERE id = $1 AND completed_at IS NOT NULL',
};

/**
 * Ends a task, or returns how it ended.
 *
 * @returns the stored outcome, which need not be the verdict; undefined where the options kept the task as it was.
 */
export async function settleTask(
  database: Database,
  taskId: TaskId,
  verdict: Verdict,
  options: SettleOptions,
): Promise<Outcome | undefined> {
  const settled = await database.transaction((transaction) => settleIn(transaction, taskId, verdict, options));
  if (settled !== undefined) return settled;
  const [row] = await database.query<Outcome>(selectOutcome, [taskId]);
  return row;
}

/** The same inside a caller's transaction. @returns undefined where there was nothing to end. */
export async function settleIn(
  transaction: Queryable,
  taskId: TaskId,
  verdict: Verdict,
  options: SettleOptions,
): Promise<Outcome | undefined> {
  const reason = verdict.status === 'fail' ? verdict.reason : null;
  const captured = verdict.capturedMicroUsd ?? 0n;
  const [task] = await transaction.query<SettledRow>(closeTask, [
    taskId,
    verdict.status,
    reason,
    captured,
    options.onlyFrom ?? null,
    options.unchangedSince ?? null,
  ]);
  if (task === undefined) return undefined;

  if (verdict.status === 'success') {
    await storeOutputs(transaction, { taskId, ...task }, verdict.outputs, options.retentionDays);
  }
  const [end] = await transaction.query<{ wasQueued: boolean }>(recordEnd, eventValues(taskId, endOf(verdict)));
  const { billedMicroUsd, reportedMicroUsd } = verdict.status === 'fail' ? verdict : {};
  const known = await recordTaskCost(transaction, { taskId, ...task }, reportedMicroUsd);
  const billed = billedMicroUsd ?? (known?.source === 'reported' ? (known.costMicroUsd ?? undefined) : undefined);
  // A bill that the owner has paid costs the operator nothing.
  if (reason !== null && (billed === undefined || billed > task.capturedMicroUsd)) {
    const cost = (billed ?? task.heldMicroUsd) - task.capturedMicroUsd;
    await bookOperatorCost(transaction, { taskId, model: task.model, reason }, cost);
  }
  // Last: from here to the commit the account's row is locked, and all its creates and settlements wait.
  await settleHold(transaction, {
    accountId: task.accountId,
    keyId: task.keyId,
    reference: taskId,
    model: task.model,
    heldMicroUsd: task.heldMicroUsd,
    capturedMicroUsd: task.capturedMicroUsd,
    occupied: end?.wasQueued === true ? 'queued' : 'running',
  });
  if (task.spendCapIds !== null) {
    await releaseSpendCaps(transaction, task.spendCapIds, task.heldOn, task.heldMicroUsd - task.capturedMicroUsd);
  }
  options.onSettled?.(stagesOf(task, { status: verdict.status, reason }));
  return { status: verdict.status, reason };
}

/** The times are the beginnings of transactions: those of very short stages can come out below zero. */
function stagesOf(task: SettledRow, outcome: Outcome): SettledTask {
  const { model, wasStarted, queuedSeconds, archivingSeconds, totalSeconds } = task;
  const handlingSeconds = totalSeconds - queuedSeconds - (archivingSeconds ?? 0);
  return {
    ...outcome,
    model,
    queuedSeconds: Math.max(queuedSeconds, 0),
    handlingSeconds: wasStarted ? Math.max(handlingSeconds, 0) : null,
    archivingSeconds: archivingSeconds === null ? null : Math.max(archivingSeconds, 0),
    totalSeconds: Math.max(totalSeconds, 0),
  };
}

function endOf(verdict: Verdict): readonly NewEvent[] {
  if (verdict.status === 'fail') return [['settled', { status: 'fail', reason: verdict.reason }]];
  return [
    ['archived', { count: verdict.outputs.length }],
    ['settled', { status: 'success' }],
  ];
}

/** Writes the outputs' rows, in the requested tier as long as the account's cap has room. */
async function storeOutputs(
  transaction: Queryable,
  task: SettledRow & { readonly taskId: TaskId },
  outputs: readonly ArchivedOutput[],
  retentionDays: number,
): Promise<void> {
  let { storage } = task;
  if (storage === 'persistent') {
    const sizeBytes = outputs.reduce((sum, output) => sum + output.sizeBytes, 0);
    if (!(await reservePersistentBytes(transaction, task.accountId, sizeBytes))) {
      storage = 'temp';
      await transaction.query(fallBackToTemp, [task.taskId]);
      await addEvent(transaction, task.taskId, 'storage_fell_back', { storage, reason: 'cap_exceeded' });
    }
  }
  await insertTaskOutputs(transaction, { ...task, storage }, outputs, retentionDays);
}
