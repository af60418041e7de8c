/**
 * The state of the whole service, as one process sees it at the moment of a scrape: backlogs, their ages, the amount
 * of money held, and whether the database, the store and Temporal answer. Every process reports the same figures, so
 * aggregate them by maximum and not by sum.
 */
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { FAILING_KINDS } from '../domain/failing-kind.ts';
import type { FailingKind } from '../domain/failing-kind.ts';
import type { QueueName } from '../domain/workflow-ids.ts';

/** The number of items, and the age of the oldest of them. */
export interface Backlog {
  readonly count: number;
  readonly oldestSeconds: number;
}

export interface Hold extends Backlog {
  readonly microUsd: number;
}

export interface UpstreamCooldown {
  readonly upstream: string;
  readonly isPaused: boolean;
  /** Whether its circuit breaker is open, and lets no task try yet. */
  readonly isFailing: boolean;
  /** Why it is paused, if its credential is the reason. */
  readonly pauseReason: string | null;
  /** What is wrong with its credential, according to its last answer. */
  readonly credentialProblem: string | null;
  /** Whether an operator has drained it. */
  readonly isDrained: boolean;
  readonly slotsTaken: number;
  /** Tasks in its queue. */
  readonly waiting: number;
}

/** Text calls in the background that have not ended: responses of their own, and lines of batches. */
export type OpenCalls = Readonly<
  Record<'response' | 'batch_line', Readonly<Record<'queued' | 'in_progress', Backlog>>>
>;

/** Batches that have not ended. */
export type OpenBatches = Readonly<Record<'validating' | 'in_progress' | 'cancelling' | 'finalizing', Backlog>>;

/** What waits in each task queue of Temporal for a worker. */
export type QueueBacklogs = Readonly<Record<QueueName, Backlog>>;

/** What is stored in PostgreSQL. */
export interface StoredState {
  readonly tasks: Readonly<Record<'queued' | 'handling' | 'archiving', Backlog>>;
  readonly holds: Readonly<Record<'task' | 'text', Hold>>;
  readonly outbox: ReadonlyMap<string, Backlog>;
  /** `oldestSeconds`: how long the longest overdue one has been due. */
  readonly callbacks: Backlog;
  readonly backgroundCalls: OpenCalls;
  readonly batches: OpenBatches;
  readonly upstreams: readonly UpstreamCooldown[];
  /** Items that passes fail to process again and again. */
  readonly failingItems: ReadonlyMap<FailingKind, number>;
}

export interface ServiceState {
  readonly isDatabaseUp: boolean;
  readonly isStoreUp: boolean;
  readonly isTemporalUp: boolean;
  /** Undefined: it could not be read in time. */
  readonly stored: StoredState | undefined;
  /** Undefined: Temporal could not be asked. */
  readonly queues: QueueBacklogs | undefined;
}

/** All kinds of outbox rows: a kind without rows is shown as 0. */
export const OUTBOX_KINDS = [
  'start_task',
  'cancel_task',
  'wake_task',
  'stop_generation',
  'deliver_callback',
  'promote_output',
];

/** @returns a function that shows a state. Values that are no longer available are removed. */
export function registerServiceGauges(registry: Registry): (state: ServiceState) => void {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry] });

  const databaseUp = gauge('darkroom_database_up', 'Whether the database answers this process');
  const storeUp = gauge('darkroom_store_up', 'Whether the object store can be written and read by this process');
  const temporalUp = gauge('darkroom_temporal_up', 'Whether Temporal answers this process');
  const tasks = gauge('darkroom_tasks_open', 'Tasks that are not over, by status', 'status');
  const taskAge = gauge('darkroom_tasks_oldest_age_seconds', 'For how long the oldest one has been in it', 'status');
  const holds = gauge('darkroom_holds_open', 'Holds that are not settled, of tasks and of text calls', 'kind');
  const held = gauge('darkroom_holds_open_micro_usd', 'What they hold, in micro-USD', 'kind');
  const holdAge = gauge('darkroom_holds_oldest_age_seconds', 'For how long the oldest has been open', 'kind');
  const outbox = gauge('darkroom_outbox_rows', 'Rows of the outbox that are pending for Temporal, by kind', 'kind');
  const outboxAge = gauge('darkroom_outbox_oldest_age_seconds', 'For how long the oldest was not delivered', 'kind');
  const callbacks = gauge('darkroom_callbacks_pending', 'Callbacks that are neither delivered nor given up');
  const callbackAge = gauge('darkroom_callbacks_oldest_due_age_seconds', 'For how long the oldest has been due');
  const calls = gauge(
    'darkroom_background_calls_open',
    'Text calls in the background that are not over',
    'kind',
    'state',
  );
  const callAge = gauge(
    'darkroom_background_calls_oldest_age_seconds',
    'For how long the oldest has been open',
    'kind',
    'state',
  );
  const batches = gauge('darkroom_batches_open', 'Batches that are not over, by status', 'status');
  const batchAge = gauge('darkroom_batches_oldest_age_seconds', 'For how long the oldest has been open', 'status');
  const queueBacklog = gauge(
    'darkroom_queue_backlog',
    'Workflow tasks and activities in a task queue that no worker has taken, about',
    'queue',
  );
  const queueAge = gauge(
    'darkroom_queue_age_seconds',
    'For how long the oldest one has been in it: what workers are scaled by',
    'queue',
  );
  const paused = gauge(
    'darkroom_upstream_paused',
    'Whether an upstream is paused because it asked us to back off',
    'upstream',
  );
  const failing = gauge(
    'darkroom_upstream_failing',
    'Whether the breaker of an upstream is open; 0 once a task may try it again',
    'upstream',
  );
  const cooldown = gauge(
    'darkroom_upstream_cooldown',
    'An upstream that is paused because of its credential, by reason',
    'upstream',
    'reason',
  );
  const credential = gauge(
    'darkroom_upstream_credential_rejected',
    'An upstream whose last answer did not accept our credential, by reason',
    'upstream',
    'reason',
  );
  const drained = gauge('darkroom_upstream_drained', 'Whether an operator has drained an upstream', 'upstream');
  const slots = gauge(
    'darkroom_upstream_slots_taken',
    'Jobs in progress at an upstream with a concurrency limit',
    'upstream',
  );
  const waiting = gauge(
    'darkroom_upstream_waiting',
    'Tasks that wait for a slot of an upstream whose jobs are capped',
    'upstream',
  );
  const failingItems = gauge(
    'darkroom_failing_items',
    'Items that have failed in more than two passes and are still retried, by kind',
    'kind',
  );
  const upstreams = [paused, failing, cooldown, credential, drained, slots, waiting];
  const work = [tasks, taskAge, calls, callAge, batches, batchAge];
  const queueGauges = [queueBacklog, queueAge];
  const labelled = [...work, ...queueGauges, holds, held, holdAge, outbox, outboxAge, failingItems, ...upstreams];

  return ({ isDatabaseUp, isStoreUp, isTemporalUp, stored, queues }) => {
    databaseUp.set(isDatabaseUp ? 1 : 0);
    storeUp.set(isStoreUp ? 1 : 0);
    temporalUp.set(isTemporalUp ? 1 : 0);
    for (const each of labelled) each.reset();
    // Without labels `reset` leaves a 0, which would be a false value.
    for (const each of [callbacks, callbackAge]) each.remove();
    for (const [queue, backlog] of Object.entries(queues ?? {})) {
      queueBacklog.set({ queue }, backlog.count);
      queueAge.set({ queue }, backlog.oldestSeconds);
    }
    if (stored === undefined) return;
    for (const [status, backlog] of Object.entries(stored.tasks)) {
      tasks.set({ status }, backlog.count);
      taskAge.set({ status }, backlog.oldestSeconds);
    }
    for (const [kind, hold] of Object.entries(stored.holds)) {
      holds.set({ kind }, hold.count);
      held.set({ kind }, hold.microUsd);
      holdAge.set({ kind }, hold.oldestSeconds);
    }
    for (const kind of OUTBOX_KINDS) {
      const backlog = stored.outbox.get(kind);
      outbox.set({ kind }, backlog?.count ?? 0);
      outboxAge.set({ kind }, backlog?.oldestSeconds ?? 0);
    }
    for (const [kind, states] of Object.entries(stored.backgroundCalls)) {
      for (const [state, backlog] of Object.entries(states)) {
        calls.set({ kind, state }, backlog.count);
        callAge.set({ kind, state }, backlog.oldestSeconds);
      }
    }
    for (const [status, backlog] of Object.entries(stored.batches)) {
      batches.set({ status }, backlog.count);
      batchAge.set({ status }, backlog.oldestSeconds);
    }
    for (const kind of FAILING_KINDS) failingItems.set({ kind }, stored.failingItems.get(kind) ?? 0);
    callbacks.set(stored.callbacks.count);
    callbackAge.set(stored.callbacks.oldestSeconds);
    for (const { upstream, pauseReason, credentialProblem, slotsTaken, waiting: inQueue, ...is } of stored.upstreams) {
      paused.set({ upstream }, is.isPaused ? 1 : 0);
      failing.set({ upstream }, is.isFailing ? 1 : 0);
      drained.set({ upstream }, is.isDrained ? 1 : 0);
      if (pauseReason !== null) cooldown.set({ upstream, reason: pauseReason }, 1);
      if (credentialProblem !== null) credential.set({ upstream, reason: credentialProblem }, 1);
      slots.set({ upstream }, slotsTaken);
      waiting.set({ upstream }, inQueue);
    }
  };
}
