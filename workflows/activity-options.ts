/**
 * Queues, time-outs and retry policies of every activity, each number with its reason. Where a limit depends on the model
 * it comes with the task's arguments. Each has a schedule-to-close time-out, so that none waits for ever, be it for a
 * worker of its queue.
 */
import { workflowInfo } from '@temporalio/workflow';
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';
import { queueBeside } from '../src/domain/workflow-ids.ts';
import type { QueueName } from '../src/domain/workflow-ids.ts';
import type { MediaTaskInput, SweepInput } from './contracts.ts';

/**
 * A worker that dies is noticed after this long. Three lost heartbeats (they are sent every 3 s at most, see
 * `HEARTBEAT_INTERVAL_MS` in activities/heartbeat.ts): one late beat under load is no death.
 */
const HEARTBEAT_TIMEOUT = '10 seconds';

/**
 * Retries of work that failed for a passing reason (database, store or provider away): soon, then ever more seldom, up
 * to 10 s so that a task goes on at once when the trouble ends. No count: the deadline in the task's row ends it.
 */
const UNTIL_DEADLINE = { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' };

/**
 * What a stage may overrun its deadline before Temporal ends the attempt: the activity ends itself at the deadline, and
 * needs time to say so.
 */
const OVERRUN_SECONDS = 30;

/** How long a task waits for its turn where its model says nothing else (src/catalogue/definition.ts). */
const QUEUED_SECONDS = 86_400;

/** What is finished and paid for waits a day for a worker that fetches it. */
const ARCHIVING_TURN_SECONDS = 86_400;

/** What is never given up ends all the same, long after an operator has noticed; the repair pass does it then. */
const NEVER_GIVEN_UP = '30 days';

/** Another queue of the installation whose workflow runs; without one an activity is put on its workflow's own queue. */
function on(name: QueueName): string {
  return queueBeside(workflowInfo().taskQueue, name);
}

/**
 * Submitting, which for the embedded engines is the whole generation: bounded by the model's own limit. What an upstream
 * does needs no engine thread, and must not wait for one.
 */
export function submitOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: on(input.isUpstream === true ? 'waiting' : 'generation'),
    startToCloseTimeout: (input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    // A task that has not begun by then has timed out (contract §3), as has one whose workers are away for so long.
    scheduleToCloseTimeout: ((input.queuedSeconds ?? QUEUED_SECONDS) + input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: UNTIL_DEADLINE,
    // The workflow waits until the submit has really stopped, so that it knows whether there is a job to cancel.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: 'submit to the provider',
  };
}

/** Waiting for a provider's job; a waiting worker that dies is replaced, the job goes on. */
export function awaitOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: on('waiting'),
    startToCloseTimeout: (input.handlingSeconds + OVERRUN_SECONDS) * 1000,
    // The deadline in the row runs since the submit, so this one is the later.
    scheduleToCloseTimeout: (input.handlingSeconds + 2 * OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: UNTIL_DEADLINE,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: 'wait for the provider',
  };
}

/**
 * Asking what an earlier run had ended its task with: a look into its history. Like the settlement that waits for it, it is
 * never given up.
 */
export const TAKE_OVER_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: NEVER_GIVEN_UP,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  summary: 'ask what an earlier run had decided',
};

/**
 * Telling a provider to stop: a courtesy with a bound. 30 s an attempt, then the task ends anyway. Here and below the
 * activity counts the attempts that fail at the provider (`tries` in contracts.ts): those that find too many requests
 * under way come again, after a second or two, and would use up a count of the policy.
 */
export const CANCEL_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2 },
  summary: 'cancel at the provider',
};
export const CANCEL_TRIES = 3;

/**
 * The same before a cancelled task is settled: what it costs may depend on the answer, and its owner waits for the end.
 * 10 s an attempt, two of them, and 20 s in all, waiting for a worker included.
 */
export const ASK_TO_STOP_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '20 seconds',
  retry: { initialInterval: '1 second' },
  summary: 'cancel at the provider',
};
export const ASK_TO_STOP_TRIES = 2;

/** Telling a provider to stop for a task whose own workflow is gone: nobody waits, so it is tried for a while. */
export const STOP_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 hour',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'cancel at the provider',
};
export const STOP_TRIES = 10;

/** Copying the outputs: bounded by the model's archiving limit, which runs as soon as there is a slot for it. */
export function archiveOptions(input: MediaTaskInput): ActivityOptions {
  return {
    taskQueue: on('archiving'),
    startToCloseTimeout: (input.archivingSeconds + OVERRUN_SECONDS) * 1000,
    scheduleToCloseTimeout: (ARCHIVING_TURN_SECONDS + input.archivingSeconds + OVERRUN_SECONDS) * 1000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: UNTIL_DEADLINE,
    summary: 'archive the outputs',
  };
}

/**
 * Archiving what is in the store already is a look at its first bytes: it runs inside the workflow's worker, in the same
 * workflow task as the settlement, which spares two hand-overs (some 30 ms of every task). 5 s: well within one workflow
 * task; a store or database that takes longer is waited for by the regular activity.
 */
export const ARCHIVE_LOCALLY: LocalActivityOptions = {
  startToCloseTimeout: '4 seconds',
  scheduleToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 1 },
  summary: 'archive the outputs',
};

/**
 * Settling first runs inside the workflow's worker, which spares a hand-over (some 20 ms of every task). 10 s: within
 * one workflow task's heartbeat; a database that is away longer is waited for by the regular activity. So is an account of
 * which too many settlements wait already: retries in here keep a slot that workflow tasks of others need.
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

/** Settling is never given up: a task that is not settled holds money. */
export const SETTLE_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: NEVER_GIVEN_UP,
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
  summary: 'settle',
};

/**
 * One attempt of a callback: 10 s for the exchange (spec §6.2) and 10 s for reading the task and writing the attempt
 * down. An attempt for which too little of it is left is neither counted nor sent (activities/send-callback.ts), and one
 * whose record takes too long ends without it (activities/record-callback.ts): the next would run beside it. When the
 * next attempt comes is the activity's to say (`nextRetryDelay`); the intervals here are for attempts that could not even
 * begin, the database being away.
 */
export const CALLBACK_OPTIONS: ActivityOptions = {
  startToCloseTimeout: '20 seconds',
  // The attempts of its schedule end it (contract §6); between them a receiver may ask for an hour each.
  scheduleToCloseTimeout: NEVER_GIVEN_UP,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
  summary: 'send the callback',
};

/** Two attempts at one part of the repair; without a worker for them the next pass tries again. */
const REPAIR_PART = '2 minutes';
/**
 * What is done beside the repair has ended before the next pass is due: the Schedule starts none while one runs, and the
 * repair would be late for what another pass goes on with.
 */
const WITHIN_THE_MINUTE = '55 seconds';

/** One pass of the repair; the next comes a minute later anyhow. */
export function reconcileOptions(): ActivityOptions {
  return {
    taskQueue: on('maintenance'),
    startToCloseTimeout: '50 seconds',
    scheduleToCloseTimeout: REPAIR_PART,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { maximumAttempts: 2 },
    summary: 'look for tasks to repair',
  };
}

/**
 * Promoting is a look into the store and one transaction. Never given up: its bytes are counted against the account's cap
 * until it has ended. A store that is away may be so for hours, which is why the interval grows to a minute.
 */
export function promoteOptions(): ActivityOptions {
  return {
    taskQueue: on('archiving'),
    startToCloseTimeout: '30 seconds',
    // After which the expiry pass asks for it anew.
    scheduleToCloseTimeout: '7 days',
    retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '1 minute' },
    summary: 'make the output persistent',
  };
}

/** One pass; the next comes a minute later anyhow. */
export function expireOptions(): ActivityOptions {
  return {
    taskQueue: on('maintenance'),
    startToCloseTimeout: '50 seconds',
    scheduleToCloseTimeout: WITHIN_THE_MINUTE,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { maximumAttempts: 2 },
    summary: 'look for what has expired',
  };
}

/**
 * One sweep, within the interval of its Schedule. Listing a large store takes minutes; what a sweep that was cut off did
 * not reach is left to the next.
 */
export function sweepOptions(input: SweepInput): ActivityOptions {
  return {
    taskQueue: on('maintenance'),
    startToCloseTimeout: input.target === 'unnamed' ? '50 minutes' : '50 seconds',
    scheduleToCloseTimeout: input.target === 'unnamed' ? '58 minutes' : WITHIN_THE_MINUTE,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { initialInterval: '1 second', maximumAttempts: 3 },
    summary: input.target === 'unnamed' ? 'sweep objects that nothing names' : 'sweep the bytes of what is gone',
  };
}

/** One pass; after a long pause it has many days to book. What it did not reach is booked by the next. */
export function meterOptions(): ActivityOptions {
  return {
    taskQueue: on('maintenance'),
    startToCloseTimeout: '50 minutes',
    scheduleToCloseTimeout: '58 minutes',
    // One day of one account is one statement over its periods, which the database ends after 15 s.
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
    summary: 'meter persistent storage',
  };
}
