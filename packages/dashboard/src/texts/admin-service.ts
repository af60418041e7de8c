/** The texts of the operator's pages about the service and single tasks. */
import type { RepairKind } from '@darkroom/api/facts/repair-kind';
import type { UpstreamCondition } from '@darkroom/api/admin/admin-service';

const counted = (count: number, one: string, many: string): string =>
  count === 1 ? `1 ${one}` : `${count.toLocaleString('en')} ${many}`;

const upstreamStates: Readonly<Record<UpstreamCondition, string>> = {
  open: 'answers',
  paused: 'paused',
  failing: 'failing',
};

const repairKinds: Readonly<Record<RepairKind, string>> = {
  settled: 'Ended without being settled',
  timed_out: 'Past a deadline, ended',
  restarted: 'Without a workflow, started again',
  callback: 'Overdue callback, asked for again',
};

export const texts = {
  service: {
    title: 'Service',
    about: 'What waits, what fails and what was mended.',
    lookUp: 'Look a task up',
    lookUpHint: 'Its id, as its owner or a log names it. Its input and outputs are not shown here.',
    lookUpPlaceholder: 'tk-svc-…',
    badTaskId: 'This is not the id of a task: tk-svc- and 26 letters and digits.',
    open: 'Show',
    refresh: 'Read every 5 seconds.',
  },
  catalogue: {
    title: 'Models',
    loaded: (count: number) => `${counted(count, 'model', 'models')} loaded`,
    since: 'Last changed',
    refusedTitle: (files: number) => `${counted(files, 'problem', 'problems')} in the model files`,
    refusedHint: 'Until they are mended the models stay as they were. Refused since',
    label: 'Models that are loaded',
    noneHint: 'Put a model file into the folder of models: it is taken up without a restart.',
    retired: 'retired',
    columns: { name: 'Model', modality: 'Makes', routes: 'Routes', hash: 'Definition' },
    show: 'Show the models',
    hide: 'Hide the models',
  },
  queues: {
    title: 'Queues',
    accounts: 'Accounts with work',
    outbox: 'What Temporal has still to be told',
    idle: 'Nothing waits and nothing runs.',
    outboxIdle: 'Temporal knows everything.',
    suspended: 'suspended',
    columns: { account: 'Account', running: 'Running', queued: 'Waiting', oldest: 'Oldest waits for' },
    outboxColumns: { kind: 'What', waiting: 'Rows', due: 'Due', oldest: 'Oldest due for' },
    nothingWaits: 'none waits',
    nothingDue: 'none is due',
    kinds: {
      start_task: 'Start a task',
      cancel_task: 'Cancel a task',
      wake_task: 'Let a task go to its upstream',
      stop_generation: 'Stop a provider’s job',
      deliver_callback: 'Deliver a callback',
      promote_output: 'Keep an output',
    } as Readonly<Record<string, string>>,
  },
  upstreams: {
    title: 'Upstreams',
    label: 'Upstreams of tasks, by name',
    none: 'No model goes to an upstream.',
    states: upstreamStates,
    columns: {
      upstream: 'Upstream',
      state: 'State',
      failures: 'Failures in a row',
      slots: 'Jobs under way',
      until: 'Until',
    },
    /** Only limited jobs are counted; of several limits the smallest applies. */
    jobs: (taken: number, [smallest]: readonly number[]) =>
      smallest === undefined ? 'no cap' : `${taken.toLocaleString('en')} of ${smallest.toLocaleString('en')}`,
    retries: 'one task tries next',
    toldOnce: (failing: number, paused: number) =>
      failing + paused === 0 ? 'All of them answer.' : `${failing} failing, ${paused} paused.`,
  },
  repairs: {
    title: 'Repairs',
    overdue: 'Past their deadline',
    overdueNone: 'No task is past a deadline.',
    restarted: 'Started again, under way',
    restartedNone: 'No task under way had to be started again.',
    done: 'Mended',
    doneHint: 'By all processes together; kept for 30 days, at most the last 100,000.',
    kinds: repairKinds,
    counts: 'Repairs by kind',
    countColumns: { kind: 'What', day: 'Last 24 hours', month: 'Last 30 days' },
    kind: 'Kind',
    allKinds: 'Every kind',
    log: 'Repairs, newest first',
    logColumns: { at: 'When', kind: 'What', found: 'Found as', task: 'Task' },
    noneDone: 'Nothing had to be mended in the last 30 days.',
    noneOfKind: 'Nothing of this kind had to be mended in the last 30 days.',
    gone: 'This task is not there any more.',
    more: 'Show older repairs',
    columns: { at: 'Since', status: 'Status', task: 'Task' },
  },
  task: {
    title: 'Task',
    back: 'Service',
    noSuch: 'There is no such task',
    noSuchHint: 'No account of this installation has a task with this id.',
    account: 'Account',
    key: 'Key',
    model: 'Model',
    reason: 'Why it failed',
    created: 'Created',
    started: 'Started',
    completed: 'Over',
    notYet: 'not yet',
    held: 'Held',
    captured: 'Charged',
    outputs: 'Outputs stored',
    callback: 'Callback',
    callbackState: (state: string, attempts: number) => `${state}, ${counted(attempts, 'attempt', 'attempts')}`,
    timeline: 'Timeline',
    facts: 'Facts',
    workflow: 'Show the workflow in Temporal',
    copyId: 'Copy the task id',
  },
} as const;
