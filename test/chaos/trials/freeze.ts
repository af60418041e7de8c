/**
 * A process that is stopped in the middle of a transaction, with an account's row locked (docs/decisions/0013): an
 * api inside the accept of a task under a spend cap, or a worker inside a settlement. A lock of our own on the same
 * row brings it there: the process waits for the lock in its transaction, is stopped, and then gets it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../../src/accounts/keys.ts';
import { createTask } from '../clients/create-task.ts';
import type { PartName } from '../schedule.ts';
import { isConclusive, openProbes, describePeriod } from './probes.ts';
import { attemptOf, wishOf } from './trial.ts';
import type { TrialResult, TrialRoom } from './trial.ts';

/** The server ends a transaction that is idle for 10 s; the whole freeze is shorter. */
const FREEZE_MS = 8_000;
const LOOK_MS = 100;
const REACHED_WITHIN_MS = 30_000;
const ATTEMPTS = 4;
const A_LOT_MICRO_USD = 100_000_000n;

export async function freeze(room: TrialRoom, point: 'accept' | 'settlement', name: string): Promise<TrialResult> {
  const { world } = room;
  const probes = await openProbes(room, name);
  const owner = await room.openAccount(`${name}-owner`);
  // The other api is probed, because this one may be stopped.
  const [frozenApi = '', otherApi = ''] = world.apiUrls;
  const before = await probes.measure(FREEZE_MS, otherApi);

  const spendCaps = { totalMicroUsd: A_LOT_MICRO_USD };
  const capped = await createKey(world.testDatabase.database, owner.id, { name: 'capped', scopes: SCOPES, spendCaps });
  const locker = new pg.Client({ connectionString: world.testDatabase.url });
  locker.on('error', () => undefined);
  await locker.connect();
  const lock = async (): Promise<void> => {
    await locker.query('BEGIN');
    await locker.query('SELECT 1 FROM account_counters WHERE account_id = $1 FOR UPDATE', [owner.id]);
  };
  const wish = wishOf(owner.name, point, 'chaos/keyed', '[slow 2000]');
  const attempt = attemptOf(room, { ...owner, key: capped.secret }, [frozenApi]);
  let asked: Promise<unknown> = Promise.resolve();
  let hasCome = false;
  if (point === 'accept') {
    await lock();
    // With one key: a busy api may not respond the first time.
    asked = (async () => {
      for (let count = 0; count < ATTEMPTS && !hasCome; count++) await createTask(attempt, wish, count, 0);
    })();
  } else {
    const { taskId } = await createTask(attempt, wish, 0, 0);
    await waitFor(locker, 'SELECT 1 FROM tasks WHERE id = $1 AND started_at IS NOT NULL', [taskId ?? '']);
    await lock();
  }
  const [waiting] = await waitFor<{ pid: number; name: PartName }>(
    locker,
    `SELECT pid, application_name AS name FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND pg_backend_pid() = ANY (pg_blocking_pids(pid)) AND application_name LIKE $1`,
    [point === 'accept' ? 'api-1' : 'worker-%'],
  );
  hasCome = true;
  if (waiting === undefined) {
    await locker.end();
    return { hasFired: false, evidence: `no process came to the ${point}` };
  }
  const part = world.part(waiting.name);
  // Work that Temporal gives to a stopped worker waits until that is noticed, whichever account it belongs to.
  const link = waiting.name.startsWith('worker')
    ? world.links('worker-temporal')[waiting.name === 'worker-1' ? 0 : 1]
    : undefined;
  part.signal('SIGSTOP');
  try {
    link?.set('reset');
    await locker.query('ROLLBACK');
    const isOpen = async (): Promise<boolean> => {
      const { rows } = await locker.query<{ state: string }>('SELECT state FROM pg_stat_activity WHERE pid = $1', [
        waiting.pid,
      ]);
      return rows[0]?.state === 'idle in transaction';
    };
    const deadline = Date.now() + REACHED_WITHIN_MS;
    while (!(await isOpen()) && Date.now() < deadline) await sleep(LOOK_MS);
    const hasBegun = await isOpen();
    const during = await probes.measure(FREEZE_MS, otherApi);
    const hasStood = hasBegun && (await isOpen());
    const hasFired = hasStood && isConclusive(before, during);
    const evidence = `${waiting.name} stood in its transaction (${hasStood ? 'to the end' : 'not to the end'}); others before: ${describePeriod(before)}; meanwhile: ${describePeriod(during)}`;
    return hasFired
      ? {
          hasFired,
          evidence,
          trial: { kind: 'waiting', what: `${waiting.name} stopped inside ${point}`, before, during },
        }
      : { hasFired, evidence };
  } finally {
    part.signal('SIGCONT');
    link?.set('pass');
    await locker.end();
    await asked;
  }
}

/** @returns an empty list if it does not happen in time. */
async function waitFor<Row extends pg.QueryResultRow>(
  client: pg.Client,
  text: string,
  values: readonly string[],
): Promise<readonly Row[]> {
  const deadline = Date.now() + REACHED_WITHIN_MS;
  for (;;) {
    const { rows } = await client.query<Row>(text, [...values]);
    if (rows.length > 0 || Date.now() > deadline) return rows;
    await sleep(LOOK_MS);
  }
}
