/** One attempt at a step of a task, as the code here sees it. */
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import type { GenerationContext } from './context.ts';
import type { TaskRoute } from './task-route.ts';
import type { StopSignals } from './stopping.ts';

/**
 * Its number, what the attempt before it left, and how it learns that it has ended. Activities make one from Temporal's
 * context (activities/heartbeat.ts), tests from plain values.
 */
export interface Attempt {
  /** The number of the attempt, from 1. */
  readonly number: number;
  /** The id of the run of the task's workflow; undefined: none. */
  readonly runId: string | undefined;
  /** The id of the step within its run; it is the same in all attempts. */
  readonly stepId: string;
  /** Whether it runs inside the workflow's worker, where others need its slot: it does not wait for anything scarce. */
  readonly isLocal: boolean;
  /** Fires when the attempt has ended for its caller; the reason is the error to end with. */
  readonly signal: AbortSignal;
  /** Whether `signal` fired because the work was cancelled; false: the attempt alone was ended, or paused. */
  isCancelRequested(): boolean;
  /** The heartbeat details of an earlier attempt. */
  readonly earlierDetails: unknown;
  /** Attaches details to every heartbeat from now on. They are recorded within seconds, or with the attempt's failure. */
  heartbeat(details: object): void;
  /** Attaches details to every heartbeat from now on, without sending one. */
  attach(details: object): void;
  /** Sends one heartbeat and waits until it is recorded; false: the attempt has ended. */
  recordHeartbeat(details: object): Promise<boolean>;
}

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
