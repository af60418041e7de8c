/**
 * Follows a task to its end (contract §3, §4). Its events arrive in a stream, which is resumed where it broke off; in
 * addition the task itself is polled, and this result is authoritative. So an event stream that a proxy holds back, or
 * a connection that died silently, only makes this slower.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRetryable } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { WireEvent } from '@darkroom/api/tasks/event';

/** Callbacks while a task is followed. */
export interface TaskWatcher {
  /** In order, each event once. */
  readonly onEvent?: (event: WireEvent) => void;
  /** The task as last read, including its end. */
  readonly onTask?: (task: WireTask) => void;
  /** The service is unreachable, or reachable again: for people. */
  readonly onRemark?: (line: string) => void;
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Interval between polls of the task if no event requires one earlier. */
  readonly pollIntervalMs: number;
  /** How long the service may be unavailable before this gives up. */
  readonly giveUpMs?: number;
}

/** A service that is being restarted or moved is back by then. */
const GIVE_UP_MS = 300_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

/**
 * Waits until a task has ended.
 *
 * @returns the task as it ended; all events up to `settled` have been reported by then.
 * @throws {ApiError} the task cannot be read. @throws {UnreachableError} the service was unavailable for too long.
 */
export async function followTask(
  api: ApiClient,
  taskId: string,
  watcher: TaskWatcher,
  options: FollowOptions,
): Promise<WireTask> {
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const events = new EventReader(api, taskId, watcher, signal);
  const reading = events.readStream();
  try {
    const task = await pollUntilTerminal(api, taskId, watcher, events, { ...options, signal });
    over.abort();
    await reading;
    await events.readRest(options.signal);
    return task;
  } finally {
    over.abort();
    await reading;
  }
}

class EventReader {
  readonly #api: ApiClient;
  readonly #path: string;
  readonly #watcher: TaskWatcher;
  readonly #signal: AbortSignal;
  #lastSeq = 0;
  #isSettled = false;
  #hasNewEvents = false;
  #wake: () => void = () => undefined;

  constructor(api: ApiClient, taskId: string, watcher: TaskWatcher, signal: AbortSignal) {
    this.#api = api;
    this.#path = `/tasks/${encodeURIComponent(taskId)}/events`;
    this.#watcher = watcher;
    this.#signal = signal;
  }

  /** Resolves when an event has arrived since the last call resolved, or after that time. Never rejects. */
  async waitForEvent(ms: number): Promise<void> {
    if (!this.#hasNewEvents) await this.#waitForWake(ms);
    this.#hasNewEvents = false;
  }

  async #waitForWake(ms: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const timer = new AbortController();
    const waited = sleep(ms, undefined, { signal: AbortSignal.any([this.#signal, timer.signal]) });
    await Promise.race([woken, waited.catch(() => undefined)]);
    timer.abort();
  }

  /** Reads the stream until the task has settled or the signal fires. Errors are retried. */
  async readStream(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!this.#signal.aborted && !this.#isSettled) {
      const seqBefore = this.#lastSeq;
      try {
        const headers = this.#lastSeq === 0 ? {} : { 'Last-Event-ID': String(this.#lastSeq) };
        for await (const { data } of this.#api.events('GET', this.#path, { headers, signal: this.#signal })) {
          this.#take(JSON.parse(data) as WireEvent);
        }
      } catch {
        // An unavailable service is detected and reported by the code that polls the task.
      }
      this.#notifyWaiter();
      if (this.#lastSeq > seqBefore) retryMs = FIRST_RETRY_MS;
      if (!this.#isSettled) await sleep(retryMs, undefined, { signal: this.#signal }).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    }
  }

  /** Reads the events that the stream had not delivered by the end of the task. */
  async readRest(signal: AbortSignal): Promise<void> {
    while (!this.#isSettled) {
      const { events } = await this.#api.call<{ readonly events: readonly WireEvent[] }>('GET', this.#path, {
        query: { after: this.#lastSeq },
        signal,
      });
      if (events.length === 0) return;
      for (const event of events) this.#take(event);
    }
  }

  #take(event: WireEvent): void {
    // After a broken connection an event may be delivered twice; after the end come callback attempts, which are not
    // awaited.
    if (event.seq <= this.#lastSeq || this.#isSettled) return;
    this.#lastSeq = event.seq;
    this.#isSettled = event.type === 'settled';
    this.#watcher.onEvent?.(event);
    this.#notifyWaiter();
  }

  #notifyWaiter(): void {
    this.#hasNewEvents = true;
    this.#wake();
  }
}

async function pollUntilTerminal(
  api: ApiClient,
  taskId: string,
  watcher: TaskWatcher,
  events: EventReader,
  { signal, pollIntervalMs, giveUpMs = GIVE_UP_MS }: FollowOptions,
): Promise<WireTask> {
  let awaySince: number | undefined;
  let retryMs = FIRST_RETRY_MS;
  for (;;) {
    try {
      const task = await api.call<WireTask>('GET', `/tasks/${encodeURIComponent(taskId)}`, { signal });
      if (awaySince !== undefined) watcher.onRemark?.('the service is back');
      awaySince = undefined;
      retryMs = FIRST_RETRY_MS;
      watcher.onTask?.(task);
      if (isTerminal(task.status)) return task;
      await events.waitForEvent(pollIntervalMs);
    } catch (error) {
      if (signal.aborted || !isRetryable(error)) throw error;
      awaySince ??= Date.now();
      if (Date.now() - awaySince > giveUpMs) throw error;
      if (retryMs === FIRST_RETRY_MS) watcher.onRemark?.(`${(error as Error).message}; retrying`);
      await sleep(retryMs, undefined, { signal });
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    }
    signal.throwIfAborted();
  }
}
