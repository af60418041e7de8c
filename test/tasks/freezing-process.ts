/**
 * A process that stops in the middle of a transaction, as if by SIGSTOP or a hanging machine: with the account's row
 * locked and its connection open. It prints its backend's id before, and never ends by itself.
 *
 * Usage: freezing-process.ts <database url> <statement> <account> <key with a spend cap> <task to settle, or none>
 */
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import { acceptOne } from '../../src/tasks/create/accept.ts';
import { settleTask } from '../../src/tasks/lifecycle/settle.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { programConfig } from '../support/pooled-run.ts';
import { newTask } from './new-task.ts';

const [url = '', statementName = '', accountId = '', keyId = '', taskId] = process.argv.slice(2);
const pool = openDatabase({ ...programConfig(url), poolSize: 1 }, silentLogger(), (name) => {
  // Before it is sent: earlier statements of the transaction hold their locks.
  if (name === statementName) process.kill(process.pid, 'SIGSTOP');
});
const database: Database = {
  ...pool,
  transaction: (work) =>
    pool.transaction(async (transaction) => {
      // The server would end the transaction after a while, which is not tested here.
      const [row] = await transaction.query<{ pid: number }>({
        name: 'stay_open',
        text: `SELECT pg_backend_pid() AS pid, set_config('idle_in_transaction_session_timeout', '0', true)`,
      });
      process.stdout.write(`${row?.pid}\n`);
      return work(transaction);
    }),
};

if (taskId === undefined) {
  const task = newTask(accountId, { keyId, spendCapIds: [keyId] });
  await acceptOne(database, task, false);
} else {
  await settleTask(database, taskId as TaskId, { status: 'fail', reason: 'no_output' }, { retentionDays: 7 });
}
