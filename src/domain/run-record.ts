/**
 * What Temporal records about one run of a task's workflow. It matters if the database has lost commits (failover,
 * restore of a backup): the run was ahead of the record, and what it had bought must not be bought again
 * (docs/decisions/0005). The module contains the types that both sides of that lookup share, and the files that
 * activities pass to each other.
 */
import type { FailureReason } from './failure-reason.ts';

/** A file that a run stored in the object store. */
export interface StoredFile {
  readonly key: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** A job that an upstream accepted. */
export interface UpstreamJob {
  readonly jobId: string;
  /** The upstream's index in its route's list, from 0. */
  readonly upstreamIndex: number;
}

/** How a run ended its task. */
export type RunOutcome =
  | { readonly status: 'success' }
  | {
      readonly status: 'fail';
      readonly reason: FailureReason;
      /**
       * Of a cancelled task: decimal USD that its provider billed, and how many files it had finished (`StopResult`).
       */
      readonly billedUsd?: string;
      readonly finishedFiles?: number;
    };

export interface RunRecord {
  /** Undefined: it runs, was terminated, or ended because the task was not in the database. */
  readonly outcome: RunOutcome | undefined;
  /** What was generated; undefined: nothing, or nothing that is in the store. */
  readonly files: readonly StoredFile[] | undefined;
  readonly job: UpstreamJob | undefined;
  /** Whether it got as far as submitting at all. */
  readonly hasBegun: boolean;
  /** Whether an upstream may have received the work, as far as is known. */
  readonly mayHaveSubmitted: boolean;
  /** The upstream that has or may have the work. */
  readonly upstreamIndex: number | undefined;
  /** The hash of the request for which it ran (src/tasks/record/fingerprint.ts); undefined: not recorded. */
  readonly requestHash: string | undefined;
  /** The run before it, if it was not the task's first. */
  readonly earlierRunId: string | undefined;
}

/** The type of the failure with which a workflow ends whose task is not in the database. */
export const TASK_NOT_FOUND = 'TaskNotFound';

/** The pattern of a provider's job id that may be stored in a history. It excludes URLs, which may contain secrets. */
const JOB_ID = /^[\w.:=-]{1,200}$/;

/**
 * Whether a job's id is fit to be stored in a history
 * (architecture: "Nothing private or large passes through Temporal").
 */
export function isPlainJobId(jobId: string): boolean {
  return JOB_ID.test(jobId);
}

/** One archived file: small facts, passed between activities. The object itself stays in the store. */
export interface ArchivedOutput {
  /** `image video audio text first_frame last_frame thumbnail`, an open set (contract §3). */
  readonly type: string;
  readonly objectKey: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
}
