/**
 * Waits for a provider's job by asking for it, until it is over or the task's deadline passes. A worker that dies is
 * replaced by another that asks for the same job.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../src/domain/task-status.ts';
import { ProviderUnreachable } from '../src/providers/provider-unknown.ts';
import { ProviderFailure } from '../src/providers/provider.ts';
import { readGeneration, readWorkingTask, recordFiles } from '../src/tasks/work.ts';
import type { Activities, MediaTaskInput } from '../workflows/contracts.ts';
import type { ActivityContext } from './context.ts';
import { permanent } from './failures.ts';
import { withHeartbeats } from './heartbeat.ts';
import { stageFiles } from './stage-files.ts';
import { routeOf } from './task-route.ts';

/** A job is asked for soon at first, then ever more seldom: most are short, and a long one costs few requests. */
const FIRST_POLL_MS = 500;
const SLOWEST_POLL_MS = 5_000;
const POLL_BACKOFF = 1.3;

export function createAwaitGeneration(context: ActivityContext): Activities['awaitGeneration'] {
  return async (input: MediaTaskInput) => {
    const task = await readWorkingTask(context.database, input.taskId);
    if (isTerminal(task.status)) return { kind: 'over' };
    const generation = await readGeneration(context.database, task.id);
    if (generation?.state === 'produced') return { kind: 'produced' };
    if (generation?.state !== 'submitted') throw permanent('outcome_unknown');
    const { provider, request, upstreamName } = await routeOf(context, task);

    return withHeartbeats(task.deadlineAt, async (signal) => {
      for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * POLL_BACKOFF, SLOWEST_POLL_MS)) {
        let pollAfterMs: number | undefined;
        try {
          const state = await provider.poll(request, generation.jobId, { signal });
          if (state.kind === 'done') {
            if (state.files.length === 0) throw permanent('no_output');
            const files = await stageFiles(context, task.id, state.files, signal);
            await recordFiles(context.database, task.id, upstreamName, files);
            return { kind: 'produced' };
          }
          pollAfterMs = state.pollAfterMs;
        } catch (error) {
          if (error instanceof ProviderFailure) throw permanent(error.reason);
          if (!(error instanceof ProviderUnreachable)) throw error;
          // The job goes on without us; ask again until the deadline.
          context.logger.info({ taskId: task.id, upstream: upstreamName }, 'the provider did not answer for a job');
        }
        await sleep(Math.max(pollAfterMs ?? 0, wait), undefined, { signal });
      }
    });
  };
}
