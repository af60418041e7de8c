/** A process that prunes tasks, and that stops at one point of it (stopped-pruning.ts). */
import { pruneTasks } from '../../src/tasks/lifecycle/prune.ts';
import { wholePass } from './old-tasks.ts';
import { openStopping } from './stopped-pruning.ts';

const { database, store } = openStopping(process.argv.slice(2));
await pruneTasks(database, wholePass(database, store));
