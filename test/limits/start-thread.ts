/** A program that has a thread do one job, and prints the result: `timed-threads.test.ts` starts it with options. */
import { packageModule } from '../../src/config/package-root.ts';
import { createTimedThread } from '../../src/limits/timed-threads.ts';
import type { LoopingJob } from './looping-thread.ts';

const module = packageModule('test/limits/looping-thread.ts');
const thread = createTimedThread<LoopingJob, string>({ module, startJob: 'answer', heapMb: 64 });
process.stdout.write(await thread.run('answer', 60_000));
await thread.close();
