/** Processes that are killed while they spend from a shared wallet: what was not committed moved nothing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { SCOPES } from '@darkroom/api/facts/scopes';
import { createKey } from '../../src/accounts/keys.ts';
import { verifyLedger } from '../../src/billing/verify.ts';
import { packageModule } from '../../src/config/package-root.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { freeze } from '../tasks/freeze.ts';
import { PRICE, body, openTaskRoom } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';

const RETENTION = { retentionDays: 7 };
/** How many creates a process has reported when it is killed. */
const MOMENTS = [1, 7, 20, 33, 60];

let room: TaskRoom;
before(async () => {
  room = await openTaskRoom();
});
after(async () => {
  assert.deepEqual(await verifyLedger(room.database), []);
  await room.close();
});

/** Spends from both accounts until this many creates were reported, and is killed then. @returns those. */
async function spendUntilKilled(accountIds: readonly string[], creates: number): Promise<readonly string[]> {
  const script = packageModule('test/billing/spending-process.ts');
  const child = spawn(process.execPath, [script, room.url, `${PRICE}`, ...accountIds], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const reported: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    reported.push(line);
    if (reported.length === creates) child.kill('SIGKILL');
  }
  assert.deepEqual(await exited, [null, 'SIGKILL']);
  return reported;
}

describe('a process that is killed while it spends from a shared wallet', () => {
  it('leaves a ledger that adds up, and each task that it reported', async () => {
    // Few tasks at once use it up, so that the accounts race for the rest of it all the time.
    const first = await room.newCaller({ microUsd: 3n * PRICE });
    const project = await room.newCaller({ sharesWalletOf: first });
    const ids = [first.accountId, project.accountId];

    for (const creates of MOMENTS) {
      const reported = await spendUntilKilled(ids, creates);
      await waitFor('its transactions have ended', async () => {
        const [open] = await room.rows<{ count: bigint }>(
          `SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
        );
        return open?.count === 0n;
      });

      assert.deepEqual(await verifyLedger(room.database), []);
      const [found] = await room.rows<{ count: bigint }>('SELECT count(*) FROM tasks WHERE id = ANY ($1)', reported);
      assert.equal(found?.count, BigInt(reported.length));
      const open = await room.rows<{ id: TaskId }>(
        'SELECT id FROM tasks WHERE completed_at IS NULL AND account_id = ANY ($1)',
        ids,
      );
      await Promise.all(
        open.map(({ id }) => settleTask(room.database, id, { status: 'fail', reason: 'no_output' }, RETENTION)),
      );
      const [captured] = await room.rows<{ sum: bigint }>(
        'SELECT sum(captured_micro_usd)::bigint AS sum FROM tasks WHERE account_id = ANY ($1)',
        ids,
      );
      const { availableMicroUsd, heldMicroUsd } = await room.account(project);
      assert.deepEqual([availableMicroUsd + (captured?.sum ?? 0n), heldMicroUsd], [3n * PRICE, 0n]);
    }
  });

  it('leaves the last cent to the other account, if its own create was not committed', async (t) => {
    const first = await room.newCaller({ microUsd: PRICE });
    const project = await room.newCaller({ sharesWalletOf: first });
    const spendCaps = { totalMicroUsd: 1_000n * PRICE };
    const key = await createKey(room.database, project.accountId, { name: 'capped', scopes: SCOPES, spendCaps });
    const frozen = await freeze(room, t, 'charge_spend_caps', project.accountId, key.id);
    assert.ok(await frozen.isOpen());

    await frozen.end();
    await room.creator.create(first, body(), undefined);

    const { availableMicroUsd, heldMicroUsd } = await room.account(project);
    assert.deepEqual([availableMicroUsd, heldMicroUsd], [0n, PRICE]);
  });

  it('leaves a settlement to the next attempt, which releases once', async (t) => {
    const first = await room.newCaller({ microUsd: 2n * PRICE });
    const project = await room.newCaller({ sharesWalletOf: first });
    const { taskId } = await room.creator.create(project, body(), undefined);
    const frozen = await freeze(room, t, 'commit', project.accountId, 'none', taskId);
    assert.ok(await frozen.isOpen());

    await frozen.end();
    const verdict = { status: 'fail', reason: 'no_output' } as const;
    await Promise.all(Array.from({ length: 4 }, () => settleTask(room.database, taskId, verdict, RETENTION)));

    const { availableMicroUsd, heldMicroUsd } = await room.account(first);
    assert.deepEqual([availableMicroUsd, heldMicroUsd], [2n * PRICE, 0n]);
  });
});
