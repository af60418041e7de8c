/** Tasks that ended long ago, and passes that prune them. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { Caller } from '../../src/accounts/authenticate.ts';
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { pruneTasks } from '../../src/tasks/lifecycle/prune.ts';
import type { PruneOptions } from '../../src/tasks/lifecycle/prune.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { PRICE, body } from './task-room.ts';
import type { TaskRoom } from './task-room.ts';

export const RETENTION_DAYS = 30;
const MS_PER_DAY = 86_400_000;

export interface OldTaskOptions {
  readonly key?: string;
  readonly request?: Readonly<Record<string, unknown>>;
  /** How long ago it ended. */
  readonly days?: number;
  /** Where it ended exactly: milliseconds since 1970. */
  readonly endedAt?: number;
}

/** Makes a task of one image that ended long ago, with everything that an ended task has. Its output has expired. */
export async function createOldTask(
  room: TaskRoom,
  caller: Caller,
  { key, request = {}, days = 31, endedAt = Date.now() - days * MS_PER_DAY }: OldTaskOptions = {},
): Promise<TaskId> {
  const sent = body({ metadata: { project: 'north' }, callback: { url: 'https://example.com/hook' }, ...request });
  const { taskId } = await room.creator.create(caller, sent, key);
  const output = {
    type: 'image',
    objectKey: `outputs/${taskId}`,
    mimeType: 'image/png',
    sizeBytes: 5,
    sha256: '0'.repeat(64),
  };
  const verdict = { status: 'success', outputs: [output], capturedMicroUsd: PRICE / 2n } as const;
  await settleTask(room.database, taskId, verdict, { retentionDays: 7 });
  await age(room, taskId, endedAt);
  return taskId;
}

/** A pass that nothing ends before it has pruned all that it may. */
export function wholePass(database: Database, store: ObjectStore): PruneOptions {
  return {
    accountDatabase: () => database,
    store,
    now: Date.now(),
    retentionDays: RETENTION_DAYS,
    keepsInputs: false,
    signal: new AbortController().signal,
    endAt: Infinity,
  };
}

/** Prunes one task, whatever its age and state. */
export async function pruneNow(room: TaskRoom, taskId: TaskId): Promise<void> {
  const pruning = await openPruningRoom(room);
  try {
    await settleTask(room.database, taskId, { status: 'fail', reason: 'cancelled' }, { retentionDays: 7 });
    await age(room, taskId, Date.now() - (RETENTION_DAYS + 1) * MS_PER_DAY);
    await pruning.beginRound();
    await pruning.prune();
  } finally {
    await pruning.close();
  }
}

/** Moves the times of a task, and brings everything about it to its end. */
async function age(room: TaskRoom, taskId: TaskId, endedAt: number): Promise<void> {
  const times = [taskId, new Date(endedAt - 1_000), new Date(endedAt)];
  await room.rows('UPDATE task_metadata SET created_at = $2 WHERE task_id = $1', taskId, times[1]);
  await room.rows(
    'UPDATE tasks SET created_at = $2, completed_at = $3, updated_at = $3, input = NULL WHERE id = $1',
    ...times,
  );
  await room.rows(
    `UPDATE outputs SET gone_at = $2, gone_reason = 'expired', bytes_deleted_at = $2 WHERE task_id = $1`,
    taskId,
    times[2],
  );
  await room.rows(
    `INSERT INTO callback_attempts (task_id, account_id, attempt, started_at, finished_at, http_status)
     SELECT task_id, account_id, 1, $2, $2, 204 FROM callbacks WHERE task_id = $1`,
    taskId,
    times[2],
  );
  await room.rows(`UPDATE callbacks SET state = 'delivered', attempts = 1 WHERE task_id = $1`, taskId);
  await room.rows('DELETE FROM outbox WHERE subject_id = $1', taskId);
}

/** A store that does some things differently. */
export function storeWith(store: ObjectStore, changes: Partial<ObjectStore>): ObjectStore {
  return {
    put: (...args) => store.put(...args),
    head: (...args) => store.head(...args),
    read: (...args) => store.read(...args),
    delete: (...args) => store.delete(...args),
    list: (...args) => store.list(...args),
    check: () => store.check(),
    close: () => store.close(),
    ...changes,
  };
}

export interface PruningRoom {
  readonly store: ObjectStore;
  /** The directory of the store. */
  readonly directory: string;
  /** One pass, which begins a round unless an earlier one stopped in the middle. @returns how many it pruned. */
  prune(options?: Partial<PruneOptions>, database?: Database): Promise<number>;
  /** Ends the rest of the last round. */
  beginRound(): Promise<void>;
  /** The lines of an archive. */
  linesOf(objectKey: string): Promise<readonly ArchiveLine[]>;
  close(): Promise<void>;
}

/** What the tests read of a line. */
export interface ArchiveLine {
  readonly format: number;
  readonly task: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly seq: number; readonly type: string }[];
  readonly outputs: readonly Readonly<Record<string, unknown>>[];
  readonly callback: Readonly<Record<string, unknown>> | null;
  readonly callbackAttempts: readonly Readonly<Record<string, unknown>>[];
}

export async function openPruningRoom(room: TaskRoom): Promise<PruningRoom> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-prune-'));
  const store = createDiskStore(directory);
  const beginRound = async (): Promise<void> => {
    await room.rows(
      `UPDATE pruning_progress SET account_id = NULL, created_at = '-infinity', task_id = '', round_ended_at = 'epoch'`,
    );
  };
  return {
    store,
    directory,
    beginRound,
    prune: (options = {}, database = room.database) =>
      pruneTasks(database, { ...wholePass(database, store), ...options }),
    async linesOf(objectKey) {
      const content = await text((await store.read(objectKey)).pipe(createGunzip()));
      return content
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as ArchiveLine);
    },
    async close() {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
