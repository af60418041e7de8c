/**
 * The one settlement of a task: one transaction that ends it for ever, with its outputs, its money, its running slot,
 * its event and its callback's outbox row. Every path of a task ends here; the first to arrive decides, and all
 * others get what was decided (architecture, "One settlement"). Tasks of one account can share a transaction
 * (settle-queue.ts).
 */
import { settle as settleHolds } from '../../billing/ledger.ts';
import { bookOperatorCost } from '../../billing/operator-costs.ts';
import { recordTaskCosts } from '../../billing/task-costs.ts';
import { releaseSpendCaps } from '../../billing/spend-caps.ts';
import { insertTaskOutputs } from '../../objects/outputs/outputs.ts';
import type { TaskWithOutputs } from '../../objects/outputs/outputs.ts';
import { reservePersistentBytes } from '../../objects/outputs/storage-tier.ts';
import type { ArchivedOutput } from '../../domain/run-record.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import { queryRows, rowStatement } from '../../database/row-statement.ts';
import type { FailureReason } from '../../domain/failure-reason.ts';
import type { TaskStatus, TerminalStatus } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { SettledTask } from '../../telemetry/metrics-work.ts';
import { addEvent } from '../record/timeline.ts';
import type { EventDetail } from '@darkroom/api/facts/event-detail';
import type { TaskEventType } from '../record/timeline.ts';

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

/** A task that is to end, and how. */
export interface Ending {
  readonly taskId: TaskId;
  readonly verdict: Verdict;
}

interface SettledRow {
  readonly taskId: TaskId;
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

const closeTasks = rowStatement(
  'close_task',
  { task_id: 'text', status: 'text', reason: 'text', captured: 'bigint' },
  2,
  (rows) => `UPDATE tasks t
            SET status = v.status, error_reason = v.reason, captured_micro_usd = least(v.captured, t.held_micro_usd),
                completed_at = now(), updated_at = now()
           FROM ${rows} v
          WHERE t.id = v.task_id AND t.completed_at IS NULL AND ($1::text[] IS NULL OR t.status = ANY ($1))
            AND ($2::timestamptz IS NULL OR t.updated_at = $2)
      RETURNING t.id AS "taskId", t.account_id AS "accountId", t.key_id AS "keyId", t.model,
                t.held_micro_usd AS "heldMicroUsd", t.captured_micro_usd AS "capturedMicroUsd", t.storage,
                t.spend_cap_ids AS "spendCapIds", to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS "heldOn",
                t.started_at IS NOT NULL AS "wasStarted",
                extract(epoch FROM coalesce(t.started_at, t.completed_at) - t.created_at)::float8 AS "queuedSeconds",
                extract(epoch FROM t.completed_at - (SELECT min(e.at) FROM task_events e
                                                      WHERE e.task_id = t.id AND e.type = 'archiving'))::float8
                  AS "archivingSeconds",
                extract(epoch FROM t.completed_at - t.created_at)::float8 AS "totalSeconds"`,
);

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
const recordEnds = rowStatement(
  'record_end',
  { task_id: 'text', events: 'jsonb' },
  0,
  (rows) => `WITH dropped AS (
           DELETE FROM outbox o USING ${rows} v
            WHERE o.subject_id = v.task_id AND o.kind IN ('start_task', 'cancel_task')
        RETURNING o.subject_id, o.kind = 'start_task' AND NOT o.is_ready AS was_queued),
         ended AS (
           INSERT INTO task_events (task_id, seq, type, detail)
           SELECT v.task_id,
                  (SELECT coalesce(max(e.seq), 0) FROM task_events e WHERE e.task_id = v.task_id) + n.place,
                  n.event ->> 'type', n.event -> 'detail'
             FROM ${rows} v, jsonb_array_elements(v.events) WITH ORDINALITY AS n (event, place)),
         pending AS (
           UPDATE callbacks c SET state = 'pending', next_attempt_at = now()
             FROM ${rows} v WHERE c.task_id = v.task_id AND c.state = 'waiting'
        RETURNING c.task_id, c.account_id),
         delivery AS (
           INSERT INTO outbox (kind, account_id, subject_id, is_ready)
           SELECT 'deliver_callback', account_id, task_id, true FROM pending
           ON CONFLICT (kind, subject_id) DO NOTHING)
         SELECT subject_id AS "taskId" FROM dropped WHERE was_queued`,
);

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
  const outcomes = await settleTogether(database, [{ taskId, verdict }], options);
  return outcomes.get(taskId);
}

/**
 * The same for several tasks of one account, in one transaction: all of them, or none.
 *
 * @param endings at least one, each of another task.
 */
export async function settleTogether(
  database: Database,
  endings: readonly Ending[],
  options: SettleOptions,
): Promise<ReadonlyMap<TaskId, Outcome>> {
  const outcomes = new Map(await database.transaction((transaction) => settleAllIn(transaction, endings, options)));
  for (const { taskId } of endings) {
    if (outcomes.has(taskId)) continue;
    const [row] = await database.query<Outcome>(selectOutcome, [taskId]);
    if (row !== undefined) outcomes.set(taskId, row);
  }
  return outcomes;
}

/** One task inside a caller's transaction. @returns undefined where there was nothing to end. */
export async function settleIn(
  transaction: Queryable,
  taskId: TaskId,
  verdict: Verdict,
  options: SettleOptions,
): Promise<Outcome | undefined> {
  const outcomes = await settleAllIn(transaction, [{ taskId, verdict }], options);
  return outcomes.get(taskId);
}

/** A task that was closed, with what it ends with. */
interface Closed {
  readonly task: SettledRow;
  readonly verdict: Verdict;
}

/** @returns the outcome of each that was ended here. */
async function settleAllIn(
  transaction: Queryable,
  endings: readonly Ending[],
  options: SettleOptions,
): Promise<ReadonlyMap<TaskId, Outcome>> {
  // In the order of their ids, so that two transactions with the same tasks do not lock them crosswise.
  const ordered = endings.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1));
  const rows = await queryRows<SettledRow>(
    transaction,
    closeTasks,
    ordered.map(({ taskId, verdict }) => [taskId, verdict.status, reasonOf(verdict), verdict.capturedMicroUsd ?? 0n]),
    [options.onlyFrom ?? null, options.unchangedSince ?? null],
  );
  const byId = new Map(rows.map((row) => [row.taskId, row]));
  const closed = ordered.flatMap(({ taskId, verdict }): readonly Closed[] => {
    const task = byId.get(taskId);
    return task === undefined ? [] : [{ task, verdict }];
  });
  const [first] = closed;
  if (first === undefined) return new Map();
  const { accountId } = first.task;
  if (closed.some(({ task }) => task.accountId !== accountId)) throw new Error('tasks of several accounts');

  await storeOutputs(transaction, accountId, closed, options.retentionDays);
  const ended = await queryRows<{ taskId: TaskId }>(
    transaction,
    recordEnds,
    closed.map(({ task, verdict }) => [task.taskId, JSON.stringify(endOf(verdict))]),
  );
  const queued = new Set(ended.map(({ taskId }) => taskId));
  await recordCosts(transaction, closed);
  // Last: from here to the commit the account's row is locked, and all its creates and settlements wait.
  await settleHolds(
    transaction,
    accountId,
    closed.map(({ task }) => ({
      reference: task.taskId,
      keyId: task.keyId,
      model: task.model,
      heldMicroUsd: task.heldMicroUsd,
      capturedMicroUsd: task.capturedMicroUsd,
      occupied: queued.has(task.taskId) ? 'queued' : 'running',
    })),
  );
  for (const { task } of closed) {
    if (task.spendCapIds === null) continue;
    await releaseSpendCaps(transaction, task.spendCapIds, task.heldOn, task.heldMicroUsd - task.capturedMicroUsd);
  }
  return new Map(
    closed.map(({ task, verdict }) => {
      const outcome = { status: verdict.status, reason: reasonOf(verdict) };
      options.onSettled?.(stagesOf(task, outcome));
      return [task.taskId, outcome];
    }),
  );
}

function reasonOf(verdict: Verdict): FailureReason | null {
  return verdict.status === 'fail' ? verdict.reason : null;
}

/** What the tasks cost the operator, and of that what their owners do not pay. */
async function recordCosts(transaction: Queryable, closed: readonly Closed[]): Promise<void> {
  const costs = await recordTaskCosts(
    transaction,
    closed.map(({ task: { taskId, accountId, model, capturedMicroUsd }, verdict }) => {
      const billedMicroUsd = verdict.status === 'fail' ? verdict.reportedMicroUsd : undefined;
      return { taskId, accountId, model, capturedMicroUsd, billedMicroUsd };
    }),
  );
  const byId = new Map(costs.map((cost) => [cost.taskId, cost]));
  for (const { task, verdict } of closed) {
    if (verdict.status !== 'fail') continue;
    const known = byId.get(task.taskId);
    const billed =
      verdict.billedMicroUsd ?? (known?.source === 'reported' ? (known.costMicroUsd ?? undefined) : undefined);
    // A bill that the owner has paid costs the operator nothing.
    if (billed !== undefined && billed <= task.capturedMicroUsd) continue;
    const cost = (billed ?? task.heldMicroUsd) - task.capturedMicroUsd;
    await bookOperatorCost(transaction, { taskId: task.taskId, model: task.model, reason: verdict.reason }, cost);
  }
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

interface EndEvent {
  readonly type: TaskEventType;
  readonly detail: EventDetail;
}

function endOf(verdict: Verdict): readonly EndEvent[] {
  if (verdict.status === 'fail') return [{ type: 'settled', detail: { status: 'fail', reason: verdict.reason } }];
  return [
    { type: 'archived', detail: { count: verdict.outputs.length } },
    { type: 'settled', detail: { status: 'success' } },
  ];
}

/** Writes the outputs' rows, in the requested tier as long as the account's cap has room. */
async function storeOutputs(
  transaction: Queryable,
  accountId: string,
  closed: readonly Closed[],
  retentionDays: number,
): Promise<void> {
  const tasks: TaskWithOutputs[] = [];
  for (const { task, verdict } of closed) {
    if (verdict.status !== 'success') continue;
    const { taskId, model } = task;
    const { outputs } = verdict;
    tasks.push({ taskId, model, outputs, storage: await storageOf(transaction, task, outputs) });
  }
  if (tasks.length > 0) await insertTaskOutputs(transaction, accountId, tasks, retentionDays);
}

async function storageOf(
  transaction: Queryable,
  { taskId, accountId, storage }: SettledRow,
  outputs: readonly ArchivedOutput[],
): Promise<'temp' | 'persistent'> {
  if (storage === 'temp') return 'temp';
  const sizeBytes = outputs.reduce((sum, output) => sum + output.sizeBytes, 0);
  if (await reservePersistentBytes(transaction, accountId, sizeBytes)) return 'persistent';
  await transaction.query(fallBackToTemp, [taskId]);
  await addEvent(transaction, taskId, 'storage_fell_back', { storage: 'temp', reason: 'cap_exceeded' });
  return 'temp';
}
