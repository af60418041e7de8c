/**
 * A thread for the tests of the pool that dies in the way that the job's engine name says: by exiting, by using up its
 * heap, or by an exception that nobody catches. Any other name lives and brings the thread's number.
 */
import { threadId } from 'node:worker_threads';
import type { EngineJob, ThreadAnswer } from '../../src/engines/engine.ts';

export default async function liveOrDie({ engine }: EngineJob): Promise<ThreadAnswer> {
  if (engine === 'exit') process.exit(3);
  if (engine === 'memory') {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 1_000_000 }).fill(0.5) as number[]);
  }
  if (engine === 'uncaught') {
    await new Promise(() => {
      setImmediate(() => {
        throw new Error('nobody catches this');
      });
    });
  }
  return { kind: 'rendered', files: [{ bytes: Uint8Array.of(threadId) }] };
}
