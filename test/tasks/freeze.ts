/** Stops a process in the middle of a transaction, with the locks that it holds by then (freezing-process.ts). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { packageModule } from '../../src/config/package-root.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import type { TaskRoom } from './task-room.ts';

interface Frozen {
  /** Whether its transaction is still open at the statement where it was stopped. */
  isOpen(): Promise<boolean>;
  /** Kills the process; the server then rolls its transaction back. */
  end(): Promise<void>;
}

/** Stops a process before it sends this statement. */
export async function freeze(
  room: TaskRoom,
  t: TestContext,
  statement: string,
  ...args: readonly string[]
): Promise<Frozen> {
  const script = packageModule('test/tasks/freezing-process.ts');
  const child = spawn(process.execPath, [script, room.url, statement, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const end = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  t.after(end);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const stateOf = async (): Promise<string | undefined> =>
    / ([A-Z]) /.exec((await readFile(`/proc/${child.pid}/stat`, 'utf8')).replace(/^.*\)/, ''))?.[1];
  await waitFor('the process is stopped', async () => (await stateOf()) === 'T');
  return {
    async isOpen() {
      const rows = await room.rows<{ state: string }>(
        'SELECT state FROM pg_stat_activity WHERE pid = $1',
        Number(line),
      );
      return rows[0]?.state === 'idle in transaction';
    },
    end,
  };
}
