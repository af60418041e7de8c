/** What the histories of tasks show of their activities: which were retried, and which Temporal gave up on. */
import type { Client, WorkflowHandle } from '@temporalio/client';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

/** temporal.api.enums.v1.TimeoutType */
const TIMEOUT_TYPE_HEARTBEAT = 4;

/** Counts over all of the histories. */
export interface ActivityTally {
  /** Activities that ran, those inside a workflow's worker included. */
  readonly activities: number;
  /** Started more than once, for whatever reason. */
  readonly triedAgain: number;
  /** Attempts for which no heartbeat came in time, including those that were retried. */
  readonly heartbeatsLapsed: number;
  /** Given up because of any timeout. */
  readonly timedOut: number;
  /** Workflow tasks that failed or timed out. */
  readonly workflowTasksLost: number;
}

/** Reads the histories of these workflows. */
export async function tallyActivities(client: Client, workflowIds: readonly string[]): Promise<ActivityTally> {
  const tally = {
    activities: 0,
    triedAgain: 0,
    heartbeatsLapsed: 0,
    timedOut: 0,
    workflowTasksLost: 0,
  };
  for (const workflowId of workflowIds) {
    count(await client.workflow.getHandle(workflowId).fetchHistory(), tally);
  }
  return tally;
}

function count({ events }: History, tally: { -readonly [name in keyof ActivityTally]: number }): void {
  for (const event of events ?? []) {
    if (event.workflowTaskTimedOutEventAttributes || event.workflowTaskFailedEventAttributes) {
      tally.workflowTasksLost += 1;
    }
    // A failed attempt appears in the history only in the event of the next attempt.
    const started = event.activityTaskStartedEventAttributes;
    if (started) {
      tally.activities += 1;
      if ((started.attempt ?? 1) > 1) tally.triedAgain += 1;
      if (isLapse(started.lastFailure)) tally.heartbeatsLapsed += 1;
    }
    const inside = attemptInside(event.markerRecordedEventAttributes);
    if (inside !== undefined) {
      tally.activities += 1;
      if (inside > 1) tally.triedAgain += 1;
    }
    const timedOut = event.activityTaskTimedOutEventAttributes;
    if (timedOut) {
      tally.timedOut += 1;
      if (isLapse(timedOut.failure)) tally.heartbeatsLapsed += 1;
    }
  }
}

interface Marker {
  readonly markerName?: string | null;
  readonly details?: Readonly<
    Record<string, { readonly payloads?: readonly { readonly data?: Uint8Array | null }[] | null }>
  > | null;
}

/**
 * @returns the last attempt of an activity inside the workflow's worker; undefined if the marker is of something
 * else.
 */
function attemptInside(marker: Marker | null | undefined): number | undefined {
  if (marker?.markerName !== 'core_local_activity') return undefined;
  const data = marker.details?.['data']?.payloads?.[0]?.data ?? new Uint8Array();
  return (JSON.parse(Buffer.from(data).toString('utf8')) as { attempt: number }).attempt;
}

interface Failure {
  readonly timeoutFailureInfo?: { readonly timeoutType?: number | null } | null;
}

function isLapse(failure: Failure | null | undefined): boolean {
  return failure?.timeoutFailureInfo?.timeoutType === TIMEOUT_TYPE_HEARTBEAT;
}
