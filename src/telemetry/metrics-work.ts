/**
 * What a process counts of the work that it does: how tasks, text calls and callbacks end, how long they take, and what
 * passes over many rows have done.
 */
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { FAILING_KINDS } from '../domain/failing-kind.ts';
import type { FailingKind } from '../domain/failing-kind.ts';
import type { FailureReason } from '../domain/failure-reason.ts';
import { REPAIR_KINDS } from '@darkroom/api/facts/repair-kind';
import type { RepairKind } from '@darkroom/api/facts/repair-kind';
import type { TerminalStatus } from '@darkroom/api/facts/task-status';
import { childrenOf } from './metrics-traffic.ts';

/** Buckets in seconds, from an image of an embedded engine to a video that takes an hour. */
const STAGE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** How a task ended and how long each stage took; stages that it did not reach are null. */
export interface SettledTask {
  readonly model: string;
  readonly status: TerminalStatus;
  readonly reason: FailureReason | null;
  readonly queuedSeconds: number;
  readonly handlingSeconds: number | null;
  readonly archivingSeconds: number | null;
  readonly totalSeconds: number;
}

export interface TaskMetrics {
  readonly settled: (task: SettledTask) => void;
  repaired(kind: RepairKind, count?: number): void;
}

/**
 * How tasks end and how long their stages take, observed by the process that settles one: usually the worker, or the
 * api if a task is cancelled before it was launched. Also what the repair had to do.
 */
export function createTaskMetrics(registry: Registry): TaskMetrics {
  const registers = [registry];
  const ends = new Counter({
    name: 'darkroom_tasks_settled_total',
    help: 'Tasks that this process ended, by model, status and reason of the failure',
    labelNames: ['model', 'status', 'reason'],
    registers,
  });
  const stages = new Histogram({
    name: 'darkroom_task_stage_duration_seconds',
    help: 'How long tasks were queued, handling, archiving and altogether (total), by model; observed when they end',
    labelNames: ['model', 'stage'],
    buckets: STAGE_BUCKETS,
    registers,
  });
  const repairs = new Counter({
    name: 'darkroom_repairs_total',
    help: 'Repairs of tasks and callbacks, by kind',
    labelNames: ['kind'],
    registers,
  });
  for (const kind of REPAIR_KINDS) repairs.inc({ kind }, 0);

  const models = childrenOf((model: string) => ({
    queued: stages.labels({ model, stage: 'queued' }),
    handling: stages.labels({ model, stage: 'handling' }),
    archiving: stages.labels({ model, stage: 'archiving' }),
    total: stages.labels({ model, stage: 'total' }),
  }));

  return {
    settled(task) {
      ends.inc({ model: task.model, status: task.status, reason: task.reason ?? '' });
      const model = models(task.model);
      model.queued.observe(task.queuedSeconds);
      if (task.handlingSeconds !== null) model.handling.observe(task.handlingSeconds);
      if (task.archivingSeconds !== null) model.archiving.observe(task.archivingSeconds);
      model.total.observe(task.totalSeconds);
    },
    repaired: (kind, count = 1) => repairs.inc({ kind }, count),
  };
}

const FIRST_BYTE_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** `answered`: complete. `gone`: the client disconnected. `failed`: it broke off on our side. */
export type TextCallEnd = 'answered' | 'gone' | 'failed';

export interface TextMetrics {
  /** An answer has begun, this long after its hold was requested. Not streamed: it is complete. */
  begun(model: string, seconds: number): void;
  /** A stream is open until the returned function is called. */
  streaming(): () => void;
  /** A call is settled. @param tokens that are billed; undefined: none. */
  ended(
    model: string,
    end: TextCallEnd,
    tokens: { readonly inputTokens: number; readonly outputTokens: number } | undefined,
  ): void;
  /** An upstream reported more usage than a request can have, and our own count was billed. */
  usageRejected(upstream: string): void;
  /** An upstream reported a usage that costs this many micro-USD more than was held. */
  exceeded(model: string, microUsd: bigint): void;
}

/** Text calls (contract §9): how they end, how soon answers begin, and the tokens that are billed. */
export function createTextMetrics(registry: Registry): TextMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: 'darkroom_text_calls_total',
    help: 'Text calls by model and outcome: answered, gone (the client disconnected), failed',
    labelNames: ['model', 'outcome'],
    registers,
  });
  const tokens = new Counter({
    name: 'darkroom_text_tokens_total',
    help: 'Billed tokens by model and direction',
    labelNames: ['model', 'direction'],
    registers,
  });
  const excess = new Counter({
    name: 'darkroom_text_hold_exceeded_micro_usd_total',
    help: 'What reported usage cost beyond the holds of its calls, in micro-USD, by model; the operator bears it',
    labelNames: ['model'],
    registers,
  });
  const rejected = new Counter({
    name: 'darkroom_text_usage_rejected_total',
    help: 'Reports of usage beyond what their requests can have used, by upstream; our own counts were billed instead',
    labelNames: ['upstream'],
    registers,
  });
  const first = new Histogram({
    name: 'darkroom_text_first_byte_seconds',
    help: 'From the call to the beginning of its response, by model; if not streamed, to the complete response',
    labelNames: ['model'],
    buckets: FIRST_BYTE_BUCKETS,
    registers,
  });
  const streams = new Gauge({
    name: 'darkroom_text_streams_open',
    help: 'Streams of text that this process is sending',
    registers,
  });

  const models = childrenOf((model: string) => ({
    first: first.labels({ model }),
    answered: calls.labels({ model, outcome: 'answered' }),
    gone: calls.labels({ model, outcome: 'gone' }),
    failed: calls.labels({ model, outcome: 'failed' }),
    input: tokens.labels({ model, direction: 'input' }),
    output: tokens.labels({ model, direction: 'output' }),
    excess: excess.labels({ model }),
  }));

  return {
    begun: (model, seconds) => models(model).first.observe(seconds),
    streaming() {
      streams.inc();
      return () => streams.dec();
    },
    ended(model, end, billed) {
      const of = models(model);
      of[end].inc();
      if (billed === undefined) return;
      of.input.inc(billed.inputTokens);
      of.output.inc(billed.outputTokens);
    },
    usageRejected: (upstream) => rejected.inc({ upstream }),
    exceeded: (model, microUsd) => models(model).excess.inc(Number(microUsd)),
  };
}

/** Buckets in seconds; an exchange takes 10 s at most (spec §6.2). */
const ATTEMPT_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The result: an HTTP status, or one of the error classes with which attempts are listed. */
interface AttemptFacts {
  readonly httpStatus?: number;
  readonly errorClass?: 'tls' | 'timeout' | 'unreachable';
}

const ATTEMPT_OUTCOMES = ['2xx', '3xx', '4xx', '5xx', 'tls', 'timeout', 'unreachable'] as const;
const DELIVERY_ENDS = ['delivered', 'exhausted', 'stopped'] as const;

export interface CallbackMetrics {
  attempted(facts: AttemptFacts, seconds: number): void;
  /** Nothing more is sent: it was delivered, the schedule is used up, or the receiver declined further callbacks. */
  ended(state: (typeof DELIVERY_ENDS)[number]): void;
}

/** Callbacks (contract §6): the outcomes of attempts, and how deliveries ended. */
export function createCallbackMetrics(registry: Registry): CallbackMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'darkroom_callback_attempts_total',
    help: 'Attempts of callbacks by outcome: the class of the HTTP status, or of the error',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'darkroom_callback_attempt_duration_seconds',
    help: 'How long an attempt of a callback took',
    buckets: ATTEMPT_BUCKETS,
    registers,
  });
  const deliveries = new Counter({
    name: 'darkroom_callback_deliveries_total',
    help: 'Completed deliveries: delivered, exhausted (the schedule is used up) or stopped (410)',
    labelNames: ['state'],
    registers,
  });
  for (const outcome of ATTEMPT_OUTCOMES) attempts.inc({ outcome }, 0);
  for (const state of DELIVERY_ENDS) deliveries.inc({ state }, 0);
  return {
    attempted({ httpStatus, errorClass }, seconds) {
      const outcome = httpStatus === undefined ? errorClass : `${Math.floor(httpStatus / 100)}xx`;
      attempts.inc({ outcome: outcome ?? 'unreachable' });
      duration.observe(seconds);
    },
    ended: (state) => deliveries.inc({ state }),
  };
}

const PRUNED_KINDS = ['tasks', 'text_calls', 'files'] as const;
type PrunedKind = (typeof PRUNED_KINDS)[number];

/** A problem of a model file, and the position in it, if it has one. */
interface ModelFileProblem {
  readonly file: string;
  readonly member: string | undefined;
}

/** How many bad model files have a series of their own; the others share one: a release can break all of them. */
const MAX_NAMED_FILES = 20;
const OTHER_FILES = { file: 'others', member: '' };

export interface PassMetrics {
  itemsFailed(kind: FailingKind, count: number): void;
  /** All problems of the model files that this process rejects now. */
  modelFilesRejected(problems: readonly ModelFileProblem[]): void;
  /** Counted when their deletion is committed. */
  rowsPruned(kind: PrunedKind, count: number): void;
}

/** What passes over many rows have done: single items that one could not process, and old rows that it pruned. */
export function createPassMetrics(registry: Registry): PassMetrics {
  const failures = new Counter({
    name: 'darkroom_pass_item_failures_total',
    help: 'Items that a pass could not process, by kind; each failed retry counts',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of FAILING_KINDS) failures.inc({ kind }, 0);
  const rejected = new Gauge({
    name: 'darkroom_model_files_rejected',
    help: 'Problems of a model file that this process rejects at present, with the position of the first one',
    labelNames: ['file', 'member'],
    registers: [registry],
  });
  const pruned = new Counter({
    name: 'darkroom_pruned_total',
    help: 'Rows of old tasks, text calls and files that were deleted, by kind; the first two were exported before',
    labelNames: ['kind'],
    registers: [registry],
  });
  for (const kind of PRUNED_KINDS) pruned.inc({ kind }, 0);
  return {
    itemsFailed: (kind, count) => failures.inc({ kind }, count),
    modelFilesRejected(problems) {
      rejected.reset();
      const files = new Map<string, { file: string; member: string }>();
      for (const { file, member = '' } of problems) {
        const labels = files.get(file) ?? (files.size < MAX_NAMED_FILES ? { file, member } : OTHER_FILES);
        files.set(file, labels);
        rejected.inc(labels);
      }
      if (files.size > 0) failures.inc({ kind: 'model_file' }, files.size);
    },
    rowsPruned: (kind, count) => pruned.inc({ kind }, count),
  };
}
