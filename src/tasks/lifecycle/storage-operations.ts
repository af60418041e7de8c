/**
 * The operations on stored outputs (contract §5): promoting and deleting, for up to 50 at a time with a result for
 * each, and what follows from unpaid storage. Composed here, because they concern outputs, money and the timeline of
 * tasks.
 *
 * Locks in the order tasks (by id), outputs (by id), account counters.
 */
import { readAccount } from '../../accounts/accounts.ts';
import { UNPAID_DAYS, listUnpaidAccounts, storageCostOfDay } from '../../billing/storage-metering.ts';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import { inOrder } from '../../database/failing-items.ts';
import type { Isolation } from '../../database/failing-items.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { AccountDatabase } from '../../limits/row-databases.ts';
import { deleteAccountOutputs } from '../../objects/outputs/outputs.ts';
import {
  reservePersistentBytes,
  abandonPromotion,
  completePromotion,
  listPersistentSince,
  listStalledPromotions,
  lockOutputs,
  markPending,
  readPendingOutput,
  returnToTemp,
} from '../../objects/outputs/storage-tier.ts';
import type { OutputCondition } from '../../objects/outputs/storage-tier.ts';
import { requestWork } from '../outbox/outbox.ts';
import { addEvents, lockTask } from '../record/timeline.ts';
import type { NewEvent } from '../record/timeline.ts';
import type { StorageRejectionReason } from '@darkroom/api/facts/storage';

/** The result for each id, in the order of the request; an id given twice is one. */
export interface StorageDecision {
  readonly accepted: readonly string[];
  readonly rejected: readonly { readonly id: string; readonly reason: StorageRejectionReason }[];
}

export interface StorageRequest {
  readonly accountId: string;
  readonly outputIds: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

const MS_PER_DAY = 86_400_000;
/**
 * The time after which a promotion is requested again, in milliseconds. It usually takes a second; after this time its
 * workflow is lost or still retries.
 */
const STALLED_AFTER_MS = 120_000;
/**
 * The maximum number of promotions in one statement. A pass requests all stalled promotions again, because the first
 * ones may never end.
 */
const STALLED_AT_ONCE = 1_000;
/** The maximum number of outputs that one transaction returns to `temp`. It locks the rows of their tasks. */
const RETURNED_AT_ONCE = 100;

/**
 * Accepts outputs for promotion. Their bytes are counted at once; the rest is done by a workflow for each, so the
 * launcher has to be woken where anything was accepted.
 *
 * @param request.priceMicroUsdPerGbMonth the cost of the first day has to be available; nothing is held.
 */
export async function promoteOutputs(
  database: Database,
  request: StorageRequest & { readonly priceMicroUsdPerGbMonth: bigint },
): Promise<StorageDecision> {
  const { accountId, now, priceMicroUsdPerGbMonth } = request;
  return database.transaction(async (transaction) => {
    const ids = [...new Set(request.outputIds)];
    const outputs = await lockOutputs(transaction, ids, accountId, now);
    const { availableMicroUsd } = await readAccount(transaction, accountId);
    const decision = await decideEach(ids, async (id) => {
      const output = outputs.get(id);
      const rejection = findPromotionRejection(output);
      if (output === undefined || rejection !== undefined) return rejection;
      if (storageCostOfDay(output.sizeBytes, priceMicroUsdPerGbMonth, now) > availableMicroUsd) return 'insufficient';
      return (await reservePersistentBytes(transaction, accountId, output.sizeBytes)) ? undefined : 'cap_exceeded';
    });
    if (decision.accepted.length === 0) return decision;
    await markPending(transaction, decision.accepted, now);
    for (const id of decision.accepted) await requestWork(transaction, 'promote_output', accountId, id);
    return decision;
  });
}

/** Reasons in the output itself. Where nothing would happen, nothing costs anything, and money does not matter. */
function findPromotionRejection(output: OutputCondition | undefined): StorageRejectionReason | undefined {
  if (output === undefined) return 'not_owned';
  if (output.isGone) return 'already_deleted';
  if (output.storageTier === 'persistent') return 'not_promotable';
  return output.isPending ? 'storage_op_pending' : undefined;
}

/** Deletes outputs: gone for readers when this returns; the bytes follow. A pending promotion ends with its output. */
export async function deleteOutputs(database: Database, request: StorageRequest): Promise<StorageDecision> {
  const { accountId, now } = request;
  return database.transaction(async (transaction) => {
    const ids = [...new Set(request.outputIds)];
    await lockTasksOf(transaction, ids, accountId);
    const outputs = await lockOutputs(transaction, ids, accountId, now);
    const decision = await decideEach(ids, async (id) => {
      const output = outputs.get(id);
      if (output === undefined) return 'not_owned';
      return output.isGone ? 'already_deleted' : undefined;
    });
    const deleted = decision.accepted.flatMap((id) => outputs.get(id) ?? []);
    await recordTaskEvents(transaction, deleted, (id) => ['output_deleted', { outputId: id }]);
    if (deleted.length > 0) await deleteAccountOutputs(transaction, accountId, decision.accepted, now);
    return decision;
  });
}

/** The result of a pending promotion. `given_up`: the output, or its bytes, are gone. */
export type PromotionOutcome = 'persistent' | 'given_up' | 'not_pending';

/**
 * Ends a pending promotion. Repeating it changes nothing.
 *
 * @param hasBytes returns whether the object is in the store, whole. @param now milliseconds since 1970.
 * @param accountDatabase where the row of the account may have to be waited for; default: `database`.
 */
export async function finishPromotion(
  database: Database,
  outputId: string,
  now: number,
  hasBytes: (objectKey: string, sizeBytes: number) => Promise<boolean>,
  accountDatabase: AccountDatabase = () => database,
): Promise<PromotionOutcome> {
  const pending = await readPendingOutput(database, outputId);
  if (pending === undefined) return 'not_pending';
  const isWhole = await hasBytes(pending.objectKey, pending.sizeBytes);
  return accountDatabase(pending.accountId).transaction(async (transaction) => {
    await lockTask(transaction, pending.taskId);
    if (isWhole && (await completePromotion(transaction, outputId, now))) {
      await addEvents(transaction, pending.taskId, [['output_promoted', { outputId }]]);
      return 'persistent';
    }
    return (await abandonPromotion(transaction, outputId)) ? 'given_up' : 'not_pending';
  });
}

/**
 * Requests promotions again that are well overdue: their workflow was terminated, or lost with Temporal's database.
 * Where it still runs, the start is rejected as a duplicate and nothing happens.
 *
 * @param now milliseconds since 1970. @param isolate separates them: one that cannot be requested stops no other.
 * @returns how many.
 */
export async function requestStalledPromotions(
  database: Queryable,
  now: number,
  isolate: Isolation = inOrder,
): Promise<number> {
  let requested = 0;
  for (let after = ''; ;) {
    const stalled = await listStalledPromotions(database, now - STALLED_AFTER_MS, { after, limit: STALLED_AT_ONCE });
    const { done } = await isolate({
      kind: 'expiry',
      items: stalled,
      idOf: ({ id }) => id,
      work: ({ id, accountId }) => requestWork(database, 'promote_output', accountId, id),
    });
    requested += done.length;
    after = stalled.at(-1)?.id ?? after;
    if (stalled.length < STALLED_AT_ONCE) return requested;
  }
}

/**
 * Returns to `temp` what was persistent for seven days without its account paying for any of them (contract §5).
 *
 * @param now milliseconds since 1970. @param onBatch is called after each transaction; an error that it throws ends
 *   the account's turn.
 * @returns how many outputs.
 */
export async function returnUnpaidOutputs(
  database: Database,
  options: {
    readonly now: number;
    readonly retentionDays: number;
    readonly onBatch?: () => void;
    /** Separates accounts: one whose outputs cannot be returned stops no other. */
    readonly isolate?: Isolation;
  },
): Promise<number> {
  const { now, retentionDays, onBatch, isolate = inOrder } = options;
  const since = now - UNPAID_DAYS * MS_PER_DAY;
  let returned = 0;
  async function returnOutputsOf(accountId: string): Promise<void> {
    for (;;) {
      const ids = await listPersistentSince(database, accountId, since, RETURNED_AT_ONCE);
      if (ids.length === 0) return;
      const before = returned;
      await database.transaction(async (transaction) => {
        await lockTasksOf(transaction, ids, accountId);
        const outputs = await returnToTemp(transaction, ids, now, retentionDays);
        await recordTaskEvents(transaction, outputs, (id) => [
          'storage_fell_back',
          { outputId: id, storage: 'temp', reason: 'unpaid' },
        ]);
        returned += outputs.length;
      });
      onBatch?.();
      // A period whose output is gone would be listed for ever: `admin ledger verify` reports it.
      if (returned === before) return;
    }
  }

  await isolate({
    kind: 'unpaid_storage',
    items: await listUnpaidAccounts(database, now),
    idOf: (accountId) => accountId,
    work: returnOutputsOf,
  });
  return returned;
}

async function decideEach(
  ids: readonly string[],
  findRejection: (id: string) => Promise<StorageRejectionReason | undefined>,
): Promise<StorageDecision> {
  const accepted: string[] = [];
  const rejected: { id: string; reason: StorageRejectionReason }[] = [];
  for (const id of ids) {
    const reason = await findRejection(id);
    if (reason === undefined) accepted.push(id);
    else rejected.push({ id, reason });
  }
  return { accepted, rejected };
}

const selectTasks: Statement = {
  name: 'select_tasks_of_outputs',
  text: `SELECT DISTINCT task_id AS id FROM outputs WHERE id = ANY ($1) AND account_id = $2 ORDER BY task_id`,
};

async function lockTasksOf(transaction: Queryable, outputIds: readonly string[], accountId: string): Promise<void> {
  const tasks = await transaction.query<{ id: TaskId }>(selectTasks, [outputIds, accountId]);
  for (const { id } of tasks) await lockTask(transaction, id);
}

/** Adds an event for each output to the timeline of its task, which is locked. */
async function recordTaskEvents(
  transaction: Queryable,
  outputs: readonly { readonly id: string; readonly taskId: TaskId }[],
  eventOf: (outputId: string) => NewEvent,
): Promise<void> {
  const events = new Map<TaskId, NewEvent[]>();
  for (const { id, taskId } of outputs) events.set(taskId, [...(events.get(taskId) ?? []), eventOf(id)]);
  for (const [taskId, list] of events) await addEvents(transaction, taskId, list);
}
