/** Runs an activity in the process of a test, as an attempt that sends no heartbeats and is never cancelled. */
import { asyncLocalStorage } from '@temporalio/activity';
import type { Context } from '@temporalio/activity';
import { stub } from './stub.ts';

export function runActivity<Result>(activity: () => Promise<Result>): Promise<Result> {
  const attempt = stub<Context>({
    info: { isLocal: true, attempt: 1 },
    cancellationSignal: new AbortController().signal,
  });
  return asyncLocalStorage.run(attempt, activity);
}
