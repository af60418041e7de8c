/**
 * Queues, time-outs and retry policies of every activity, each number with its reason. A limit that depends on the
 * model comes with the task's arguments. Each has a schedule-to-close time-out, so that none waits forever, not even
 * for a worker of its queue.
 */
import { workflowInfo } from '@temporalio/workflow';
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';
import { siblingQueue } from '../src/domain/workflow-ids.ts';
import type { QueueName } from '../src/domain/workflow-ids.ts';
import type { MediaTaskInput, SweepInput } from './contracts.ts';

/**
 * A dead worker is detected after this time. Three lost heartbeats (they are sent every 3 s at most, see
 * `HEARTBEAT_INTERVAL_MS` in activities/heartbeat.ts): one late heartbeat under load is tolerated.
 */
const HEARTBEAT_TIMEOUT = '10 seconds';

/**
 * Retries of work that failed for a transient reason (database, store or provider unavailable): soon, then at growing
 * intervals up to 10 s, so that a task continues promptly when the trouble ends. No maximum count: the deadline in the
 * task's row ends them.
 */
const RETRY_UNTIL_DEADLINE = {
  initialInterval: '500 milliseconds',
  backoffCoefficient: 2,
  maximumInterval: '10 seconds',
};

/**
 * How far a stage may overrun its deadline before Temporal ends the attempt: the activity ends itself at the deadline,
 * and needs time to report it.
 */
const OVERRUN_SECONDS = 30;

/** How long a task waits for its turn if its model does not define it (src/catalogue/definition.ts). */
const QUEUED_SECONDS = 86_400;

/** Finished and paid work waits a day for a worker that fetches it. */
const ARCHIVING_QUEUE_SECONDS = 86_400;

/** Even work that is never given up ends, long after an operator has noticed; then the repair pass takes over. */
const LAST_RESORT_TIMEOUT = '30 days';

/**
 * Another queue of the installation whose workflow runs; without one an activity is scheduled on its workflow's own
 * queue.
 */
function queueOf(name: QueueName): string {
  return siblingQueue(workflowInfo().taskQueue, name);
}

/**
 * Submitting, which for the embedded engines is the whole generation: bounded by the model's own limit. Work at an
 * upstream needs no engine thread, and must not wait for one.
 */
export function submitOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: queueOf(input.isUpstream === true ? 'waiting' : 'generation'),
    startToCloseTimeout: (input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    // A task that has not started by then has timed out (contract §3), and so has one whose workers are unavailable
    // for that long.
    scheduleToCloseTimeout: ((input.queuedSeconds ?? QUEUED_SECONDS) + input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY_UNTIL_DEADLINE,
    // The workflow waits until the submit has really stopped, so that it knows whether there is a job to cancel.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: 'submit to the provider',
  };
}

/** Waiting for a provider's job; if the waiting worker dies it is replaced, and the job continues. */
export function awaitOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: queueOf('waiting'),
    startToCloseTimeout: (input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    // The deadline in the row runs from the submit, so this one is later.
    scheduleToCloseTimeout: (input.handlingSeconds + 2 * OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY_UNTIL_DEADLINE,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: 'wait for the provider',
  };
}

/**
 * Reads from the history of an earlier run how it had ended its task. Like the settlement that waits for it, it is
 * never given up.
 */
export const EARLIER_RUN_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: LAST_RESORT_TIMEOUT,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  summary: 'ask what an earlier run had decided',
};

/**
 * Asking a provider to stop: best effort, with a limit. 30 s per attempt, then the task ends anyway. Here and below
 * the activity counts the attempts that fail at the provider (`tries` in contracts.ts): attempts that find too many
 * requests under way are retried after a second or two, and would use up the policy's maximum.
 */
export const CANCEL_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2 },
  summary: 'cancel at the provider',
};
export const CANCEL_MAX_ATTEMPTS = 3;

/**
 * The same before a cancelled task is settled: its cost may depend on the answer, and its owner waits for the end. 10
 * s per attempt, two attempts, and 20 s in total, including the wait for a worker.
 */
export const CANCEL_BEFORE_SETTLEMENT_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '20 seconds',
  retry: { initialInterval: '1 second' },
  summary: 'cancel at the provider',
};
export const CANCEL_BEFORE_SETTLEMENT_MAX_ATTEMPTS = 2;

/**
 * Asking a provider to stop for a task whose own workflow is gone: nothing waits for it, so it is retried for a while.
 */
export const CANCEL_ORPHANED_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 hour',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'cancel at the provider',
};
export const CANCEL_ORPHANED_MAX_ATTEMPTS = 10;

/** Copying the outputs: bounded by the model's archiving limit, which runs as soon as there is a slot for it. */
export function archiveOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: queueOf('archiving'),
    startToCloseTimeout: (input.archivingSeconds + OVERRUN_SECONDS) * 1000,
    scheduleToCloseTimeout: (ARCHIVING_QUEUE_SECONDS + input.archivingSeconds + OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY_UNTIL_DEADLINE,
    summary: 'archive the outputs',
  };
}

/**
 * Archiving outputs that are already in the store only reads their first bytes: it runs inside the workflow's worker,
 * in the same workflow task as the settlement, which saves two transfers (some 30 ms of every task). 5 s: well within
 * one workflow task; if the store or database takes longer, the regular activity waits for it.
 */
export const ARCHIVE_LOCALLY: LocalActivityOptions = {
  startToCloseTimeout: '4 seconds',
  scheduleToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'archive the outputs',
};

/**
 * The settlement is first tried inside the workflow's worker, which saves a transfer (some 20 ms of every task). 10 s:
 * within one workflow task's heartbeat; if the database is unavailable for longer, the regular activity waits for it.
 * The same applies to an account for which too many settlements are already waiting: retries here hold a slot that
 * other workflow tasks need.
 */
export const SETTLE_LOCALLY: LocalActivityOptions = {
  startToCloseTimeout: '5 seconds',
  scheduleToCloseTimeout: '10 seconds',
  retry: {
    initialInterval: '100 milliseconds',
    backoffCoefficient: 2,
    maximumInterval: '1 second',
    maximumAttempts: 4,
    nonRetryableErrorTypes: ['AccountBusyError'],
  },
  summary: 'settle',
};

/** A settlement is never given up: a task that is not settled holds money. */
export const SETTLE_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: LAST_RESORT_TIMEOUT,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  summary: 'settle',
};

/**
 * One attempt of a callback: 10 s for the exchange (spec §6.2) and 10 s for reading the task and recording the
 * attempt. An attempt with too little time left is neither counted nor sent (activities/send-callback.ts), and one
 * whose record takes too long ends without it (src/tasks/lifecycle/record-callback.ts): otherwise the next would run beside it.
 * The activity determines when the next attempt comes (`nextRetryDelay`); the intervals here are for attempts that
 * could not even begin because the database was unavailable.
 */
export const CALLBACK_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '20 seconds',
  // The number of attempts in its schedule ends it (contract §6); between them a receiver may request an hour each.
  scheduleToCloseTimeout: LAST_RESORT_TIMEOUT,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'send the callback',
};

/** Two attempts at one part of the repair; without a worker for them the next pass retries. */
const REPAIR_TIMEOUT = '2 minutes';
/**
 * Work beside the repair has ended before the next pass is due: the Schedule starts none while one runs, and the
 * repair would be delayed by work that another pass could continue.
 */
const PASS_TIMEOUT = '55 seconds';

/** One pass of the repair; the next one comes a minute later anyway. */
export function reconcileOptions(): ActivityOptions {
  return {
    taskQueue: queueOf('maintenance'),
    startToCloseTimeout: '50 seconds',
    scheduleToCloseTimeout: REPAIR_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { maximumAttempts: 2 },
    summary: 'look for tasks to repair',
  };
}

/**
 * Promoting is a check of the store and one transaction. Never given up: its bytes count against the account's cap
 * until it has ended. A store may be unavailable for hours, which is why the interval grows to a minute.
 */
export function promoteOptions(): ActivityOptions {
  return {
    taskQueue: queueOf('archiving'),
    startToCloseTimeout: '30 seconds',
    // After that the expiry pass requests it again.
    scheduleToCloseTimeout: '7 days',
    retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
    summary: 'make the output persistent',
  };
}

/** One pass; the next one comes a minute later anyway. */
export function expireOptions(): ActivityOptions {
  return {
    taskQueue: queueOf('maintenance'),
    startToCloseTimeout: '50 seconds',
    scheduleToCloseTimeout: PASS_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { maximumAttempts: 2 },
    summary: 'look for what has expired',
  };
}

/**
 * One sweep, within the interval of its Schedule. Listing a large store takes minutes; what an interrupted sweep did
 * not reach is left to the next.
 */
export function sweepOptions(input: SweepInput): ActivityOptions {
  return {
    taskQueue: queueOf('maintenance'),
    startToCloseTimeout: input.target === 'unnamed' ? '50 minutes' : '50 seconds',
    scheduleToCloseTimeout: input.target === 'unnamed' ? '58 minutes' : PASS_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { initialInterval: '1 second', maximumAttempts: 3 },
    summary: input.target === 'unnamed' ? 'sweep objects that nothing names' : 'sweep the bytes of what is gone',
  };
}

/** One pass; after a long pause it has to charge many days. What it did not reach is charged by the next. */
export function meterOptions(): ActivityOptions {
  return {
    taskQueue: queueOf('maintenance'),
    startToCloseTimeout: '50 minutes',
    scheduleToCloseTimeout: '58 minutes',
    // One day of one account is one statement over its periods, which the database ends after 15 s.
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
    summary: 'meter persistent storage',
  };
}
