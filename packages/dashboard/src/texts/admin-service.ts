/** The texts of the operator's pages about the service and single tasks. */
import type { RepairKind } from '@darkroom/api/facts/repair-kind';
import type { UpstreamCondition } from '@darkroom/api/admin/admin-service';
import { counted } from './counted.ts';

const upstreamStates: Readonly<Record<UpstreamCondition, string>> = {
  open: 'healthy',
  paused: 'in cooldown',
  failing: 'circuit open',
};

const repairKinds: Readonly<Record<RepairKind, string>> = {
  settled: 'Settled (workflow had ended)',
  timed_out: 'Ended (past a deadline)',
  restarted: 'Restarted (no workflow)',
  callback: 'Redelivered (callback overdue)',
};

export const texts = {
  service: {
    title: 'Service',
    about: 'Check models, upstream health, queues and repairs, and find a task.',
    find: 'Find a task',
    findHint: 'Enter a task ID. The input and outputs of the task are not shown to operators.',
    findPlaceholder: 'tk-svc-…',
    badTaskId: 'Enter a task ID: tk-svc- followed by 26 letters and digits.',
    open: 'Find',
    refresh: 'Refreshed every 5 seconds.',
  },
  catalogue: {
    title: 'Models',
    loaded: (count: number) => `${counted(count, 'model', 'models')} loaded`,
    since: 'Last changed',
    rejectedTitle: (errors: number) => `${counted(errors, 'error', 'errors')} in the model files`,
    rejectedHint: 'The affected models keep their previous definitions until you fix the files. Rejected since',
    label: 'Loaded models',
    noneHint: 'Add a model file to the models directory. It is loaded without a restart.',
    retired: 'retired',
    columns: { name: 'Model', modality: 'Modality', routes: 'Routes', hash: 'Definition hash' },
    show: 'Show models',
    hide: 'Hide models',
  },
  queues: {
    title: 'Queues',
    accounts: 'Backlog by account',
    outbox: 'Outbox (pending for Temporal)',
    idle: 'No queued or running tasks.',
    outboxIdle: 'The outbox is empty.',
    suspended: 'suspended',
    columns: { account: 'Account', running: 'Running', queued: 'Queued', oldest: 'Queue age' },
    outboxColumns: { kind: 'Kind', pending: 'Pending', due: 'Due', oldest: 'Oldest item' },
    noneQueued: 'none queued',
    noneDue: 'none due',
    kinds: {
      start_task: 'Start a task',
      cancel_task: 'Cancel a task',
      wake_task: 'Grant a task its upstream slot',
      stop_generation: 'Cancel a provider’s job',
      deliver_callback: 'Deliver a callback',
      promote_output: 'Make an output persistent',
    } as Readonly<Record<string, string>>,
  },
  upstreams: {
    title: 'Upstreams',
    label: 'Upstreams of tasks, by name',
    none: 'No model uses an upstream.',
    states: upstreamStates,
    columns: {
      upstream: 'Upstream',
      state: 'Health',
      failures: 'Consecutive failures',
      slots: 'Running jobs',
      until: 'Until',
    },
    /** Only limited jobs are counted; of several limits the smallest applies. */
    jobs: (taken: number, [smallest]: readonly number[]) =>
      smallest === undefined ? 'no limit' : `${taken.toLocaleString('en')} of ${smallest.toLocaleString('en')}`,
    retries: 'next task probes it',
    summary: (failing: number, paused: number) =>
      failing + paused === 0
        ? 'All upstreams are healthy.'
        : `${failing} with an open circuit breaker, ${paused} in cooldown.`,
  },
  repairs: {
    title: 'Repairs',
    overdue: 'Past a deadline',
    overdueNone: 'No task is past a deadline.',
    restarted: 'Restarted and in progress',
    restartedNone: 'No restarted tasks are in progress.',
    done: 'Completed repairs',
    doneHint: 'By all processes, for the last 30 days and at most the last 100,000.',
    kinds: repairKinds,
    counts: 'Repairs by kind',
    countColumns: { kind: 'Kind', day: 'Last 24 hours', month: 'Last 30 days' },
    kind: 'Kind',
    allKinds: 'All kinds',
    log: 'Repairs, newest first',
    logColumns: { at: 'Time', kind: 'Kind', found: 'Previous status', task: 'Task' },
    noneDone: 'No repairs in the last 30 days.',
    noneOfKind: 'No repairs of this kind in the last 30 days.',
    gone: 'The task no longer exists.',
    more: 'Show older repairs',
    columns: { at: 'Since', status: 'Status', task: 'Task' },
  },
  task: {
    title: 'Task',
    back: 'Service',
    noSuch: 'Task not found',
    noSuchHint: 'No account of this installation has a task with this ID.',
    account: 'Account',
    key: 'Key',
    model: 'Model',
    reason: 'Failure reason',
    created: 'Created',
    started: 'Started',
    completed: 'Completed',
    notYet: 'not yet',
    held: 'Held',
    captured: 'Captured',
    outputs: 'Outputs',
    callback: 'Callback',
    callbackState: (state: string, attempts: number) => `${state}, ${counted(attempts, 'attempt', 'attempts')}`,
    timeline: 'Timeline',
    facts: 'Details',
    workflow: 'View the workflow in Temporal',
    copyId: 'Copy the task ID',
  },
} as const;
