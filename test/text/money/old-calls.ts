/** Text calls that were settled long ago, and passes that prune them. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { Caller } from '../../../src/accounts/authenticate.ts';
import type { Database } from '../../../src/database/database.ts';
import { createDiskStore } from '../../../src/objects/stores/disk-store.ts';
import type { ObjectStore } from '../../../src/objects/stores/object-store.ts';
import { moveTextMoney } from '../../../src/text/money/move.ts';
import { pruneTextCalls } from '../../../src/text/money/prune-calls.ts';
import type { CallPruneOptions } from '../../../src/text/money/prune-calls.ts';
import type { NewTextCall, TextSettlement } from '../../../src/text/money/move.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';
import { newTextCall, settlementOf } from './text-processes.ts';
import type { TextProcess } from './text-processes.ts';

export const RETENTION_DAYS = 30;

export interface OldCallOptions {
  /** How long ago it was settled. Its hold is of now, like the entries of it, which never change. */
  readonly days?: number;
  readonly capturedMicroUsd?: bigint;
  readonly usage?: Partial<TextSettlement['usage']>;
}

/** Holds and settles calls of one account. */
export async function createOldCalls(
  room: TaskRoom,
  { processId, ledger }: Pick<TextProcess, 'processId' | 'ledger'>,
  caller: Caller,
  count: number,
  { days = RETENTION_DAYS + 1, capturedMicroUsd = 100n, usage = {} }: OldCallOptions = {},
): Promise<readonly NewTextCall[]> {
  const calls = Array.from({ length: count }, () => newTextCall(caller));
  await Promise.all(calls.map((call) => ledger.hold(call)));
  const settlements = calls.map((call) => settlementOf(call, capturedMicroUsd, usage));
  await moveTextMoney(room.database, caller.accountId, processId, settlements, []);
  await room.rows(
    'UPDATE text_calls SET settled_at = now() - make_interval(secs => $2) WHERE id = ANY ($1)',
    calls.map(({ id }) => id),
    days * 86_400,
  );
  return calls;
}

/** Copies a settled call many times, with its entries. The balances after the copied entries are not those of a ledger. */
export async function copyCalls(room: TaskRoom, id: string, count: number): Promise<void> {
  for (const [table, own] of [
    ['text_calls', 'id'],
    ['ledger_entries', 'reference'],
  ] as const) {
    const columns = await room.rows<{ name: string }>(
      `SELECT column_name::text AS name FROM information_schema.columns
        WHERE table_name = $1 AND table_schema = 'public' AND is_identity = 'NO'`,
      table,
    );
    const names = columns.map(({ name }) => name);
    const values = names.map((name) => (name === own ? `'chatcmpl-' || md5(n::text)` : `t.${name}`));
    await room.rows(
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
         FROM ${table} t, generate_series(1, $2::integer) n WHERE t.${own} = $1`,
      id,
      count,
    );
  }
}

/** A pass that nothing ends before it has pruned all that it may. */
export function wholeCallPass(store: ObjectStore): CallPruneOptions {
  return {
    store,
    now: Date.now(),
    retentionDays: RETENTION_DAYS,
    signal: new AbortController().signal,
    endAt: Infinity,
  };
}

/** What the tests read of a line. */
export interface ArchivedCall extends Readonly<Record<string, unknown>> {
  readonly format: number;
  readonly id: string;
}

export interface CallPruningRoom {
  readonly store: ObjectStore;
  /** The directory of the store. */
  readonly directory: string;
  /** One pass, which begins a round unless an earlier one stopped in the middle. @returns how many it pruned. */
  prune(options?: Partial<CallPruneOptions>, database?: Database): Promise<number>;
  /** Ends the rest of the last round. */
  beginRound(): Promise<void>;
  /** The calls of all recorded archives. */
  archived(): Promise<readonly ArchivedCall[]>;
  close(): Promise<void>;
}

export async function openCallPruningRoom(room: TaskRoom): Promise<CallPruningRoom> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-prune-calls-'));
  const store = createDiskStore(directory);
  return {
    store,
    directory,
    prune: (options = {}, database = room.database) =>
      pruneTextCalls(database, { ...wholeCallPass(store), ...options }),
    async beginRound() {
      await room.rows(`UPDATE text_pruning_progress SET block = NULL, round_ended_at = 'epoch'`);
    },
    async archived() {
      const archives = await room.rows<{ key: string }>('SELECT object_key AS key FROM text_call_archives');
      const contents = await Promise.all(
        archives.map(async ({ key }) => text((await store.read(key)).pipe(createGunzip()))),
      );
      return contents.flatMap((content) =>
        content
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as ArchivedCall),
      );
    },
    async close() {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
