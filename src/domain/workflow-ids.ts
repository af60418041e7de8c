/**
 * The names by which Temporal knows our work: workflow ids, task queues and search attributes. The module has no side
 * effects; workflows, launcher and operators' queries use the same ones.
 */

/** `tk-svc-` and 26 characters of Crockford base32 (contract §2). It is also the workflow id. */
export type TaskId = `tk-svc-${string}`;

const TASK_ID = /^tk-svc-[0-9A-HJKMNP-TV-Z]{26}$/;

/** Whether a string has the form of a task id; the task need not exist. */
export function isTaskId(text: string): text is TaskId {
  return TASK_ID.test(text);
}

/** The workflow that delivers a task's callback; a redelivery is another run of it. */
export function callbackWorkflowId(taskId: TaskId): string {
  return `callback-${taskId}`;
}

/** The signal that makes a running delivery check once more before it ends. */
export const DELIVER_AGAIN_SIGNAL = 'deliverAgain';

/** The signal that notifies a task that waits for a capped upstream that it has a slot there. */
export const SLOT_SIGNAL = 'slotTaken';

/** The workflow that stops the work at a provider, for a task whose own workflow is gone. */
export function stopWorkflowId(taskId: TaskId): string {
  return `stop-${taskId}`;
}

/** The task that a workflow works for; undefined if it is of another kind. */
export function taskOfWorkflow(workflowId: string): TaskId | undefined {
  const id = workflowId.replace(/^(?:callback|stop)-/, '');
  return isTaskId(id) ? id : undefined;
}

/** The workflow that makes a stored output persistent. */
export function promotionWorkflowId(outputId: string): string {
  return `promote-${outputId}`;
}

/** The parts of a worker (architecture, "Parts that run"), with the names of their queues within an installation. */
export const TASK_QUEUES = {
  /** Workflows and short activities. */
  media: 'media',
  /** Work done on this machine; a few more slots than the engine pool has threads. */
  generation: 'media-generation',
  /** Waiting for an upstream's job: many, cheap. */
  waiting: 'media-waiting',
  /** Fetching finished files, separate because their servers may be slow. */
  archiving: 'media-archiving',
  /** Callbacks, separate so that a slow receiver delays no task. */
  callbacks: 'media-callbacks',
  /** Repair, expiry, sweeps and metering, which belong to no task. */
  maintenance: 'media-maintenance',
} as const;

/** The part of a worker that a task queue names. */
export type QueueName = keyof typeof TASK_QUEUES;

/** The queue of an installation, so that several can share a namespace (docs/decisions/0006). */
export function taskQueueOf(name: QueueName, installationId: string): string {
  return `${installationId}-${TASK_QUEUES[name]}`;
}

/** The name under which Temporal has the versions of an installation's workers. */
export function deploymentNameOf(installationId: string): string {
  return `${installationId}-workers`;
}

const OWN_PART = /media(?:-[a-z]+)?$/;

/**
 * The queue of the same installation that another part serves, for workflows, whose arguments do not name it.
 *
 * @param queue of the caller.
 */
export function siblingQueue(queue: string, name: QueueName): string {
  return queue.slice(0, queue.search(OWN_PART)) + TASK_QUEUES[name];
}

/** The names under which workflows can be found in the Temporal Web UI: workflows set them, `temporal/` registers them. */
export const SEARCH_ATTRIBUTE_NAMES = ['TaskStatus', 'AccountId', 'Model', 'Route', 'ErrorCode'] as const;
