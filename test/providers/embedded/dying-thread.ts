/**
 * A thread for the tests of the pool that dies in the way that the job's engine name specifies: by exiting, by using
 * up its heap, or by an uncaught exception; other names report progress or reject the input. With any other name it
 * lives and returns the thread's number.
 */
import { threadId } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import type { EngineJob, ThreadResult } from '@darkroom/engines/engine';

export default async function liveOrDie({
  job: { engine, input, scratch },
  progressPort,
}: {
  readonly job: EngineJob;
  readonly progressPort: MessagePort;
}): Promise<ThreadResult> {
  if (engine === 'exit') process.exit(3);
  if (engine === 'memory') {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 1_000_000 }).fill(0.5) as number[]);
  }
  if (engine === 'uncaught') {
    await new Promise(() => {
      setImmediate(() => {
        throw new Error('no one catches this');
      });
    });
  }
  if (engine === 'arguments') return { kind: 'rendered', files: process.execArgv.map((path) => ({ path })) };
  if (engine === 'reject')
    return {
      kind: 'unusable_input',
      problem: 'image_urls.0: not an image',
      fault: { kind: 'undecodable', field: 'image_urls.0' },
    };
  if (engine === 'report') {
    // Each is received before the next is sent: the pool listens only while the job runs.
    for (const [heard, fraction] of [0.25, 0.5].entries()) {
      progressPort.postMessage(fraction, []);
      Atomics.wait(input['heard'] as Int32Array, 0, heard, 90_000);
    }
    return { kind: 'rendered', files: [{ path: `${scratch}/file` }] };
  }
  return { kind: 'rendered', files: [{ bytes: Uint8Array.of(threadId) }] };
}
