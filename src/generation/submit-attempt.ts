import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { Attempt } from './attempt.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';
import type { StopSignals } from './run-until-stopped.ts';

/** One attempt to submit a task. */
export interface SubmitAttempt extends Attempt {
  readonly context: GenerationContext;
  readonly task: WorkingTask;
  readonly routes: readonly TaskRoute[];
  /** The upstream that an earlier attempt may have submitted the work to: no other upstream may get it. */
  readonly triedIndex: number | undefined;
  /** The upstreams at which a job of the task has failed: they do not get it again. */
  readonly failedIndices: ReadonlySet<number>;
  /** Fires on cancellation, at the deadline and when the worker stops. */
  readonly stopSignal: AbortSignal;
  /** These fire for fewer reasons. */
  readonly stopSignals: StopSignals;
  /** Whether a slot at the provider was acquired before the task's time began to run. */
  readonly hasSlot: boolean;
  /** The attempt's own directory. */
  readonly scratch: string;
  /** Receives the progress, 0 to 1. */
  readonly onProgress: (fraction: number) => void;
}
