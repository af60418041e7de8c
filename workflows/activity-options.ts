/**
 * The queues, time-outs and retry policies of all activities. Limits that depend on the model are arguments of the
 * task's workflow. Every activity has a schedule-to-close time-out, so that it never waits forever, not even for a
 * worker of its queue.
 */
import { workflowInfo } from '@temporalio/workflow';
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';
import { siblingQueue } from '../src/domain/workflow-ids.ts';
import type { QueueName } from '../src/domain/workflow-ids.ts';
import type { MediaTaskInput, SweepInput } from './contracts.ts';

/**
 * The time after which an attempt without heartbeats is considered dead. Heartbeats are sent three times in it
 * (activities/heartbeat.ts), so that one late heartbeat under load is tolerated. Each is a billed action of Temporal
 * Cloud.
 */
const HEARTBEAT_TIMEOUT = '10 seconds';
/**
 * The same for a wait for a provider's job, which may take hours. Other workers notice a worker that has died earlier,
 * and cancels are learned of from the database (docs/decisions/0024).
 */
const WAITING_HEARTBEAT_TIMEOUT = '3 minutes';

/**
 * Retry policy for work that failed for a transient reason (database, object store or provider unavailable): after 0.5
 * s, then at growing intervals of up to 10 s, so that a task continues soon after the cause is gone. The number of
 * retries is not limited: the deadline in the task's row ends them.
 */
const RETRY_UNTIL_DEADLINE = {
  initialInterval: '500 milliseconds',
  backoffCoefficient: 2,
  maximumInterval: '10 seconds',
};

/**
 * How many seconds an attempt may exceed the deadline of its stage before Temporal ends it. The activity ends itself at
 * the deadline and needs time to report that.
 */
const OVERRUN_SECONDS = 30;

/**
 * How many seconds an archiving activity may wait in its queue for a worker. One day: the provider has already
 * generated, and charged for, the outputs.
 */
const ARCHIVING_QUEUE_SECONDS = 86_400;

/**
 * The schedule-to-close time-out of activities that must not fail. An operator notices the cause much earlier; if the
 * time-out expires nevertheless, the repair pass takes over.
 */
const LAST_RESORT_TIMEOUT = '30 days';

/**
 * The name of another task queue of the same installation. An activity without a `taskQueue` runs on the queue of its
 * workflow.
 */
function queueOf(name: QueueName): string {
  return siblingQueue(workflowInfo().taskQueue, name);
}

/**
 * Options of the submit, which the model's own limit bounds. For the embedded engines it is the whole generation. Work
 * at an upstream needs no engine thread and must not wait for one, so it has another queue.
 */
export function submitOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: queueOf(input.isUpstream ? 'waiting' : 'generation'),
    startToCloseTimeout: (input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    // A task that has not started by then has timed out (contract §3), also if no worker was available for that long.
    scheduleToCloseTimeout: (input.queuedSeconds + input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY_UNTIL_DEADLINE,
    // The workflow waits until the submit has really stopped, so that it knows whether there is a job to cancel.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: 'submit to the provider',
  };
}

/**
 * Options of the wait for a provider's job. If the waiting worker dies, another one continues to wait; the job is not
 * affected.
 */
export function awaitOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: queueOf('waiting'),
    startToCloseTimeout: (input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    // The deadline in the row runs from the submit, so this one is later.
    scheduleToCloseTimeout: (input.handlingSeconds + 2 * OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: WAITING_HEARTBEAT_TIMEOUT,
    retry: RETRY_UNTIL_DEADLINE,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: 'wait for the provider',
  };
}

/**
 * Options of the record of a cancel that came while a job is waited for: one statement. The cancel itself waits for it,
 * so it is not retried.
 */
export const RECORD_CANCEL_LOCALLY: LocalActivityOptions = {
  startToCloseTimeout: '2 seconds',
  scheduleToCloseTimeout: '2 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'record the cancel',
};

/**
 * Options of the activity that reads from the history of an earlier run how that run had ended the task. The settlement
 * waits for it, so it must not fail either.
 */
export const EARLIER_RUN_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: LAST_RESORT_TIMEOUT,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  summary: 'read the outcome of an earlier run',
};

/**
 * Options of the best-effort request to a provider to cancel a job: 30 s per attempt, and the task ends in any case.
 * Here and below the activity itself counts the attempts that fail at the provider (`tries` in contracts.ts). Attempts
 * that find too many requests in progress are retried after a second or two and would use up a maximum in the retry
 * policy.
 */
export const CANCEL_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2 },
  summary: 'cancel at the provider',
};
export const CANCEL_MAX_ATTEMPTS = 3;

/**
 * The same before a cancelled task is settled. Its cost may depend on the provider's response, and its owner waits for
 * the end: so there are two attempts of 10 s each, and 20 s in total, including the wait for a worker.
 */
export const CANCEL_BEFORE_SETTLEMENT_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '20 seconds',
  retry: { initialInterval: '1 second' },
  summary: 'cancel at the provider',
};
export const CANCEL_BEFORE_SETTLEMENT_MAX_ATTEMPTS = 2;

/** The same for a task whose workflow no longer exists. Nothing waits for it, so it is retried for up to an hour. */
export const CANCEL_ORPHANED_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 hour',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'cancel at the provider',
};
export const CANCEL_ORPHANED_MAX_ATTEMPTS = 10;

/**
 * Options of the archiving of outputs. The model's archiving limit bounds it, counted from the time at which it gets a
 * slot.
 */
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
 * Options of the archiving of outputs that are already in the object store. It only reads their first bytes, so it runs
 * as a local activity in the same workflow task as the settlement, which saves two round trips (some 30 ms of every
 * task). 5 s are well within one workflow task; if the store or the database takes longer, the regular activity takes
 * over.
 */
export const ARCHIVE_LOCALLY: LocalActivityOptions = {
  startToCloseTimeout: '4 seconds',
  scheduleToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'archive the outputs',
};

/**
 * The settlement is first tried as a local activity, which saves a round trip (some 20 ms of every task). 10 s are
 * within one workflow task's heartbeat; if the database is unavailable for longer, the regular activity takes over. It
 * also takes over if too many settlements of the account are already waiting, because retries here hold a slot that
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

/** The settlement must not fail: a task that is not settled keeps its hold on the account's balance. */
export const SETTLE_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: LAST_RESORT_TIMEOUT,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  summary: 'settle',
};

/**
 * Options of callback delivery. One attempt has 10 s for the exchange (spec §6.2) and 10 s for reading the task and
 * recording the attempt. An attempt with too little time left is neither counted nor sent
 * (activities/send-callback.ts), and one whose record takes too long ends without it
 * (src/tasks/lifecycle/callback.ts): otherwise the next attempt would run at the same time. The activity
 * determines the time of the next attempt (`nextRetryDelay`); the intervals here apply to attempts that could not begin
 * because the database was unavailable.
 */
export const CALLBACK_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '20 seconds',
  // The number of attempts in the callback schedule ends it (contract §6); a receiver may request a delay of up to an
  // hour before each.
  scheduleToCloseTimeout: LAST_RESORT_TIMEOUT,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'send the callback',
};

/** The time for two attempts at one part of the repair. If no worker takes them, the next pass retries. */
const REPAIR_TIMEOUT = '2 minutes';
/**
 * The time limit of the other work of a maintenance pass, so that it ends before the next pass is due. The Schedule
 * starts no pass while one runs, so longer work would delay the repair, although the next pass could continue that
 * work.
 */
const PASS_TIMEOUT = '55 seconds';

/** Options of one repair pass. It has few retries, because the next pass follows a minute later. */
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
 * Options of the promotion of an output: a check of the object store and one transaction. The output's bytes count
 * against the account's cap until the promotion has ended, so it is retried for days. The store may be unavailable for
 * hours, so the interval grows to a minute.
 */
export function promoteOptions(): ActivityOptions {
  return {
    taskQueue: queueOf('archiving'),
    startToCloseTimeout: '30 seconds',
    // After this time the expiry pass requests the promotion again.
    scheduleToCloseTimeout: '7 days',
    retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
    summary: 'make the output persistent',
  };
}

/** Options of one expiry pass. It has few retries, because the next pass follows a minute later. */
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
 * Options of one activity of a sweep. Listing a large store takes long: the next activity, or the next attempt,
 * continues where one stopped, and the Schedule skips the sweeps that are due meanwhile.
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

/**
 * Options of one metering pass. After a long pause it has to charge many days; the next pass charges the remaining
 * ones.
 */
export function meterOptions(): ActivityOptions {
  return {
    taskQueue: queueOf('maintenance'),
    startToCloseTimeout: '50 minutes',
    scheduleToCloseTimeout: '58 minutes',
    // One statement charges one day of one account; the database ends it after 15 s.
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
    summary: 'meter persistent storage',
  };
}
