/**
 * Why work is stopped, apart from a cancellation, whose error comes from outside. Thrown as they are by whatever is
 * stopped: `activities/failures.ts` makes of them what a history keeps.
 */

/** The task's deadline passed while it was in progress. */
export class DeadlinePassedError extends Error {
  override readonly name = 'DeadlinePassedError';

  constructor(options: { cause?: unknown } = {}) {
    super('the deadline passed', options);
  }
}

/** A stopping worker hands back its work: another worker gets it at once. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError';

  constructor() {
    super('the worker stops');
  }
}

/** The work is no longer wanted: the task has ended, or was cancelled after the attempt had ended. */
export class TaskEndedError extends Error {
  override readonly name = 'TaskEndedError';

  constructor() {
    super('the task has ended');
  }
}
