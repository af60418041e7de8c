/**
 * A process that prunes, and that stops at one point of it for ever: to be killed there. It prints a line when it does.
 *
 * Usage: pruning-process.ts <database url> <directory of the store> <point: written | read | statement>
 *   `written`: the archive is in the store; `read`: it was read back; another one: the name of the statement before
 *   which it stops.
 */
import { openDatabase } from '../../src/database/database.ts';
import { createDiskStore } from '../../src/objects/stores/disk-store.ts';
import { pruneTasks } from '../../src/tasks/lifecycle/prune.ts';
import { silentLogger } from '../../src/telemetry/log.ts';
import { programConfig } from '../support/pooled-run.ts';
import { storeWith, wholePass } from './old-tasks.ts';

const [url = '', directory = '', point = ''] = process.argv.slice(2);

function stopAt(reached: string): void {
  if (reached !== point) return;
  process.stdout.write('stopped\n');
  process.kill(process.pid, 'SIGSTOP');
}

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
const database = openDatabase({ ...programConfig(url), poolSize: 2 }, silentLogger(), stopAt);
await pruneTasks(database, wholePass(database, store));
