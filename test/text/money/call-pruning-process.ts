/**
 * A process that prunes text calls, and that stops at one point of it for ever: to be killed there. It prints a line
 * when it does.
 *
 * Usage: call-pruning-process.ts <database url> <directory of the store> <point: written | read | statement>
 *   `written`: the archive is in the store; `read`: it was read back; another one: the name of the statement before
 *   which it stops.
 */
import { openDatabase } from '../../../src/database/database.ts';
import { createDiskStore } from '../../../src/objects/stores/disk-store.ts';
import { silentLogger } from '../../../src/telemetry/log.ts';
import { pruneTextCalls } from '../../../src/text/money/prune-calls.ts';
import { programConfig } from '../../support/pooled-run.ts';
import { storeWith } from '../../tasks/old-tasks.ts';
import { wholeCallPass } from './old-calls.ts';

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
await pruneTextCalls(database, wholeCallPass(store));
