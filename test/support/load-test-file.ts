/** Loads a test file as the body of a suite. */
import { AsyncResource } from 'node:async_hooks';

let turn: Promise<unknown> = Promise.resolve();

/**
 * Loads a file, after those that were requested before. What it describes belongs to the suite that calls this.
 *
 * Node's runner finds that suite by the asynchronous context. A module that awaits at its top level, and is imported by
 * two files that load at the same time, continues both in the context of the first: the suites of the second file then
 * begin in a suite that may have finished, and fail or are lost.
 */
export async function loadTestFile(url: string): Promise<void> {
  const suite = new AsyncResource('TestFile');
  const loaded = turn.then(() => suite.runInAsyncScope(() => import(url) as Promise<unknown>));
  turn = loaded.catch(() => undefined);
  await loaded;
}
