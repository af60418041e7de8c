/** A process that prunes text calls, and that stops at one point of it (test/tasks/stopped-pruning.ts). */
import { pruneTextCalls } from '../../../src/text/money/prune-calls.ts';
import { openStopping } from '../../tasks/stopped-pruning.ts';
import { wholeCallPass } from './old-calls.ts';

const { database, store } = openStopping(process.argv.slice(2));
await pruneTextCalls(database, wholeCallPass(store));
