/** Pruning in a process of its own, which stops at one point of it for ever and is killed there. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { packageModule } from '../../src/config/package-root.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { Database } from '../../src/database/database.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import type { ObjectStore } from '../../src/objects/stores/object-store.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { programConfig } from '../support/pooled-run.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { storeWith } from './old-tasks.ts';
import type { TaskRoom } from './task-room.ts';

/**
 * In that process: what to prune with. It prints a line when it stops.
 *
 * @param args of the process: the URL of the database, the directory of the store, and the point: `written`: the
 *   archive is in the store; `read`: it was read back; another one: the name of the statement before which it stops.
 */
export function openStopping([url = '', directory = '', point = '']: readonly string[]): {
  readonly database: Database;
  readonly store: ObjectStore;
} {
  const stopAt = (reached: string): void => {
    if (reached !== point) return;
    process.stdout.write('stopped\n');
    process.kill(process.pid, 'SIGSTOP');
  };
  const disk = createDiskStore(directory);
  const store = storeWith(disk, {
    async put(...args) {
      const result = await disk.put(...args);
      stopAt('written');
      return result;
    },
    async read(...args) {
      const stream = await disk.read(...args);
      stream.once('end', () => stopAt('read'));
      return stream;
    },
  });
  return { database: openDatabase({ ...programConfig(url), poolSize: 2 }, silentLogger(), stopAt), store };
}

/** Runs such a process, kills it where it stops, and waits until its transaction has ended. */
export async function pruneUntilKilled(
  room: Pick<TaskRoom, 'url' | 'rows'>,
  { program, directory, point }: { readonly program: string; readonly directory: string; readonly point: string },
): Promise<void> {
  const child = spawn(process.execPath, [packageModule(program), room.url, directory, point], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    assert.equal(line, 'stopped');
    child.kill('SIGKILL');
  }
  assert.deepEqual(await exited, [null, 'SIGKILL']);
  await waitFor('its transaction has ended', async () => {
    const [open] = await room.rows<{ count: bigint }>(
      `SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND pid <> pg_backend_pid()`,
    );
    return open?.count === 0n;
  });
}
