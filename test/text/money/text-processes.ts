/**
 * Api processes as the ledger of text calls knows them, several in one test: each has its lease and its ledger on the
 * same database, and can be killed or paused.
 */
import { randomBytes } from 'node:crypto';
import { SCOPES } from '@darkroom/api/facts/scopes';
import type { Caller } from '../../../src/accounts/authenticate.ts';
import { createKey } from '../../../src/accounts/keys.ts';
import type { SpendCaps } from '../../../src/accounts/keys.ts';
import { DatabaseUnavailableError } from '../../../src/database/database.ts';
import type { Database } from '../../../src/database/database.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { acquireProcessLease, sweepTextCalls } from '../../../src/text/money/process-lease.ts';
import type { NewTextCall, TextSettlement, ExceededHold } from '../../../src/text/money/move.ts';
import { createTextLedger } from '../../../src/text/money/text-ledger.ts';
import type { TextLedger } from '../../../src/text/money/text-ledger.ts';
import type { TaskRoom } from '../../tasks/task-room.ts';

/** The connection between a process and its database. */
export interface Wire {
  readonly database: Database;
  /** `cut`: nothing gets through. `deaf`: everything is executed, and no response comes back. */
  state: 'good' | 'cut' | 'deaf';
}

export function wireTo(database: Database): Wire {
  const lost = (): DatabaseUnavailableError => new DatabaseUnavailableError('the database is not available');
  const pass = async <T>(work: () => Promise<T>): Promise<T> => {
    if (wire.state === 'cut') throw lost();
    const result = await work();
    if (wire.state !== 'good') throw lost();
    return result;
  };
  const wire: Wire = {
    state: 'good',
    database: {
      query: (statement, values) => pass(() => database.query(statement, values)),
      transaction: (work) => pass(() => database.transaction(work)),
      check: () => pass(() => database.check()),
      verify: () => pass(() => database.verify()),
      pool: () => database.pool(),
      close: () => Promise.resolve(),
    },
  };
  return wire;
}

export interface TextProcess {
  readonly processId: string;
  readonly ledger: TextLedger;
  /** Its calls that exceeded their holds, as recorded. */
  readonly exceeded: readonly ExceededHold[];
  readonly wire: Wire;
  renew(): Promise<void>;
  /** Its lease has expired: it is dead, or was paused for longer. */
  lapse(): Promise<void>;
  /** Advances its clock by a minute. */
  wait(): void;
  /** Nothing of it is heard again, and its lease has expired. */
  kill(): Promise<void>;
  /** Sweeps like a process that has been running for a long time. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export async function openTextProcess(room: TaskRoom): Promise<TextProcess> {
  const wire = wireTo(room.database);
  const lease = await acquireProcessLease({ database: wire.database, logger: silentLogger() });
  const { processId } = lease;
  let nowMs = 0;
  const exceeded: ExceededHold[] = [];
  const ledger = createTextLedger({
    database: wire.database,
    processId,
    renewLease: () => lease.renew(),
    logger: silentLogger(),
    onExceeded: (hold) => exceeded.push(hold),
    now: () => nowMs,
  });
  const lapse = async (): Promise<void> => {
    await room.rows(`UPDATE text_processes SET leased_until = now() - interval '1 s' WHERE id = $1`, processId);
  };
  return {
    processId,
    ledger,
    exceeded,
    wire,
    renew: () => lease.renew(),
    lapse,
    wait: () => void (nowMs += 60_000),
    async kill() {
      wire.state = 'cut';
      await lapse();
    },
    async sweep() {
      await lease.renew();
      await room.rows(`UPDATE text_processes SET unbroken_since = now() - interval '1 h' WHERE id = $1`, processId);
      return sweepTextCalls(wire.database, processId);
    },
    async close() {
      await ledger.close();
      await lease.close();
    },
  };
}

/** What was sent since `forgetStatements`, but for the renewals of leases, which are due at any time. */
export function statementsOf(room: TaskRoom): readonly string[] {
  return room.statements.filter((name) => name !== 'renew_text_process_lease');
}

/** The same caller with another key, which has these caps. */
export async function withSpendCaps(room: TaskRoom, caller: Caller, spendCaps: SpendCaps): Promise<Caller> {
  const { id } = await createKey(room.database, caller.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
  return { ...caller, keyId: id, spendCapIds: [id] };
}

export function newTextCall(caller: Caller, changes: Partial<NewTextCall> = {}): NewTextCall {
  return {
    id: `chatcmpl-${randomBytes(12).toString('hex')}`,
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: 'acme/words',
    heldMicroUsd: 1_000n,
    floorMicroUsd: 30n,
    inputTokens: 10,
    isStored: false,
    spendCapIds: caller.spendCapIds,
    ...changes,
  };
}

export function settlementOf(
  { id, accountId, inputTokens }: NewTextCall,
  capturedMicroUsd: bigint,
  changes: Partial<TextSettlement['usage']> = {},
): TextSettlement {
  const usage = { inputTokens, cachedInputTokens: 2, outputTokens: 5, reasoningTokens: 1, isEstimated: false };
  return { id, accountId, capturedMicroUsd, usage: { ...usage, ...changes } };
}

/** A row of a call in the ledger. */
export interface TextCallRow {
  readonly id: string;
  readonly process_id: string | null;
  readonly held_micro_usd: bigint;
  readonly captured_micro_usd: bigint | null;
  readonly settled_at: Date | null;
  readonly input_tokens: number;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly is_stored: boolean;
  readonly is_estimated: boolean;
}

export async function readTextCall(room: TaskRoom, id: string): Promise<TextCallRow | undefined> {
  const [row] = await room.rows<TextCallRow>('SELECT * FROM text_calls WHERE id = $1', id);
  return row;
}

/** The ledger entries of a call: kind, amount, and the available and held amounts after it. */
export function entriesOf(room: TaskRoom, id: string): Promise<readonly (readonly [string, bigint, bigint, bigint])[]> {
  return room
    .rows<{ kind: string; amount: bigint; available: bigint; held: bigint }>(
      `SELECT kind, amount_micro_usd AS amount, available_after_micro_usd AS available, held_after_micro_usd AS held
         FROM ledger_entries WHERE reference = $1 ORDER BY id`,
      id,
    )
    .then((rows) => rows.map(({ kind, amount, available, held }) => [kind, amount, available, held] as const));
}
