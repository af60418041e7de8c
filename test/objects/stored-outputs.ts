/**
 * Stored outputs for tests: tasks that were created, launched and settled by the functions that the processes call,
 * promoted by them at any time of a test's clock, and what the database then contains about them.
 */
import assert from 'node:assert/strict';
import type { Caller } from '../../src/accounts/authenticate.ts';
import { newId } from '../../src/domain/ids.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { claimOutbox } from '../../src/tasks/outbox/outbox.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { deleteOutputs, finishPromotion, promoteOutputs } from '../../src/tasks/lifecycle/storage-operations.ts';
import type { StorageDecision } from '../../src/tasks/lifecycle/storage-operations.ts';
import { PRICE, body } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

/** 5 cents per 1e9 bytes and month: the default of the configuration. */
export const STORAGE_PRICE = 50_000n;

/** The result of a check in the store. */
export const bytesAreThere = (): Promise<boolean> => Promise.resolve(true);
export const bytesAreMissing = (): Promise<boolean> => Promise.resolve(false);

export interface StorageRoom {
  /** A task that ended with outputs of these sizes, in bytes. */
  taskWithOutputs(
    caller: Caller,
    sizes: readonly number[],
    storage?: 'temp' | 'persistent',
  ): Promise<{ readonly taskId: TaskId; readonly outputIds: readonly string[] }>;
  /** The same of a new account. `id`: of its first output. */
  newOutputs(
    sizes: readonly number[],
    storage?: 'temp' | 'persistent',
  ): Promise<{
    readonly caller: Caller;
    readonly taskId: TaskId;
    readonly outputIds: readonly string[];
    readonly id: string;
  }>;
  /** Requests promotion, now or at a time of the test's clock. */
  promote(caller: Caller, outputIds: readonly string[], now?: number): Promise<StorageDecision>;
  remove(caller: Caller, outputIds: readonly string[], now?: number): Promise<StorageDecision>;
  /** Promotes outputs at a given time, with their bytes in the store. */
  promoteAt(caller: Caller, outputIds: readonly string[], now: number): Promise<void>;
  /** What counts against the cap, both according to the account's counter and as the sum of its records. */
  persistentBytes(caller: Caller): Promise<number>;
  outputOf(id: string): Promise<OutputRow>;
  /** As readers see it: in whole seconds; here in milliseconds. */
  retentionEndOf(id: string): Promise<number>;
  /** When it was persistent, in milliseconds. */
  periodsOf(id: string): Promise<readonly { readonly began: number; readonly ended: number | null }[]>;
  /** The promotions of these outputs that are pending for Temporal. */
  outboxOf(...ids: readonly string[]): Promise<readonly Record<string, unknown>[]>;
  /** The events about storage in the timeline of a task. */
  eventsOf(taskId: string): Promise<readonly unknown[]>;
}

export interface OutputRow {
  readonly tier: string;
  readonly isPending: boolean;
  readonly retainUntil: Date | null;
  readonly goneReason: string | null;
}

export function createStorageRoom(room: TaskRoom): StorageRoom {
  const { database } = room;

  const promote: StorageRoom['promote'] = ({ accountId }, outputIds, now = Date.now()) =>
    promoteOutputs(database, { accountId, outputIds, now, priceMicroUsdPerGbMonth: STORAGE_PRICE });

  const outputOf: StorageRoom['outputOf'] = async (id) => {
    const [row] = await room.rows<OutputRow>(
      `SELECT storage_tier AS tier, pending_since IS NOT NULL AS "isPending", retain_until AS "retainUntil",
              gone_reason AS "goneReason" FROM outputs WHERE id = $1`,
      id,
    );
    assert.ok(row);
    return row;
  };

  const taskWithOutputs: StorageRoom['taskWithOutputs'] = async (caller, sizes, storage = 'temp') => {
    const { taskId } = await room.creator.create(caller, body({ storage }), undefined);
    await claimOutbox(database, 1_000);
    const outputs = sizes.map((sizeBytes, index) => ({
      type: index % 2 === 0 ? 'image' : 'thumbnail',
      objectKey: `outputs/test/${newId('out')}`,
      mimeType: 'image/png',
      sizeBytes,
      sha256: 'ab'.repeat(32),
    }));
    await settleTask(database, taskId, { status: 'success', outputs, capturedMicroUsd: PRICE }, { retentionDays: 7 });
    const rows = await room.rows<{ id: string }>('SELECT id FROM outputs WHERE task_id = $1 ORDER BY position', taskId);
    return { taskId, outputIds: rows.map((row) => row.id) };
  };

  return {
    promote,
    outputOf,
    taskWithOutputs,
    async newOutputs(sizes, storage) {
      const caller = await room.newCaller();
      const { taskId, outputIds } = await taskWithOutputs(caller, sizes, storage);
      return { caller, taskId, outputIds, id: outputIds[0] ?? assert.fail() };
    },
    remove: ({ accountId }, outputIds, now = Date.now()) => deleteOutputs(database, { accountId, outputIds, now }),
    async promoteAt(caller, outputIds, now) {
      assert.deepEqual((await promote(caller, outputIds, now)).rejected, []);
      for (const id of outputIds) assert.equal(await finishPromotion(database, id, now, bytesAreThere), 'persistent');
    },
    async persistentBytes(caller) {
      const [row] = await room.rows<{ counted: number; recorded: number }>(
        `SELECT c.persistent_bytes::float8 AS counted,
                (SELECT coalesce(sum(size_bytes), 0) FROM outputs
                  WHERE account_id = c.account_id AND gone_at IS NULL
                    AND (storage_tier = 'persistent' OR pending_since IS NOT NULL))::float8 AS recorded
           FROM account_counters c WHERE c.account_id = $1`,
        caller.accountId,
      );
      assert.equal(row?.counted, row?.recorded);
      return row?.counted ?? NaN;
    },
    async retentionEndOf(id) {
      const { retainUntil } = await outputOf(id);
      return Math.floor((retainUntil?.getTime() ?? NaN) / 1000) * 1000;
    },
    periodsOf: (id) =>
      room.rows(
        `SELECT (extract(epoch FROM began_at) * 1000)::float8 AS began,
                (extract(epoch FROM ended_at) * 1000)::float8 AS ended
           FROM storage_periods WHERE output_id = $1 ORDER BY began_at`,
        id,
      ),
    outboxOf: (...ids) =>
      room.rows(
        `SELECT subject_id AS id, account_id AS "accountId", is_ready AS "isReady" FROM outbox
          WHERE kind = 'promote_output' AND subject_id = ANY ($1) ORDER BY subject_id`,
        ids,
      ),
    async eventsOf(taskId) {
      const rows = await room.rows<{ type: string; detail: unknown }>(
        'SELECT type, detail FROM task_events WHERE task_id = $1 ORDER BY seq',
        taskId,
      );
      return rows.filter(({ type }) => type.startsWith('output_') || type.startsWith('storage_'));
    },
  };
}
