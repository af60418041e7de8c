/**
 * The events of a task as they occur (contract §4.3): a stream that is resumed where it broke off, also when the
 * connection dies without a word.
 */
import { readEvents } from '@darkroom/api/client/event-stream';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { ConnectionError } from './errors.ts';
import type { Task, TaskEvent, TaskEvents } from './generated/types.ts';
import type { CallOptions, SubscribeOptions } from './options.ts';
import { pause, waitBefore } from './requests.ts';
import type { Requester } from './requests.ts';

/** The API sends something every 15 s (contract §4.7); three of them missing is a dead connection. */
const LONGEST_SILENCE_MS = 45_000;
/** Before a stream that ended early is opened again, in milliseconds: the process behind it is stopping. */
const REOPEN_MS = 1_000;

/** Yields each event once, in order, until the task has ended. */
export async function* subscribe(
  requester: Requester,
  taskId: string,
  { after = 0, ...options }: SubscribeOptions,
): AsyncGenerator<TaskEvent, void> {
  const { signal, maxRetries = requester.maxRetries } = options;
  const path = `/tasks/${encodeURIComponent(taskId)}`;
  let last = after;
  let failures = 0;
  for (;;) {
    const before = last;
    try {
      for await (const event of eventsAfter(requester, path, last, options)) {
        if (event.seq <= last) continue;
        last = event.seq;
        failures = 0;
        yield event;
        if (event.type === 'settled') return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      const waitMs = waitBefore(failures, error);
      if (failures >= maxRetries || waitMs === undefined) throw error;
      failures += 1;
      await pause(waitMs, signal);
      continue;
    }
    // The end of a stream is not the end of the task: an api that stops closes its streams.
    if (last > before) continue;
    if (isTerminal((await requester.call<Task>('GET', path, {}, options)).status)) return;
    await pause(REOPEN_MS, signal);
  }
}

/** What a stream delivers until it ends, and what is there by then. */
async function* eventsAfter(
  requester: Requester,
  path: string,
  last: number,
  options: CallOptions,
): AsyncGenerator<TaskEvent> {
  let seq = last;
  for await (const event of stream(requester, path, last, options)) {
    ({ seq } = event);
    yield event;
  }
  const query = { after: Math.max(seq, last) };
  yield* (await requester.call<TaskEvents>('GET', `${path}/events`, { query }, options)).events;
}

/** One stream, until it ends or breaks off. @throws {ConnectionError} it broke off. @throws {ApiError} */
async function* stream(
  requester: Requester,
  path: string,
  last: number,
  { signal, timeoutMs }: CallOptions,
): AsyncGenerator<TaskEvent> {
  const silence = new Silence();
  const ended = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  const headers = { Accept: 'text/event-stream', ...(last === 0 ? {} : { 'Last-Event-ID': String(last) }) };
  try {
    // The time limit of a request is for its headers: the body lasts as long as the task.
    const response = await requester.open(`${path}/events`, { headers }, { signal: ended, timeoutMs });
    if (response.body === null) return;
    silence.begin();
    for await (const { data } of readEvents(response.body.pipeThrough(silence.detector()))) {
      yield JSON.parse(data) as TaskEvent;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!silence.signal.aborted && !(error instanceof TypeError)) throw error;
    throw new ConnectionError('the stream of events broke off', { cause: error });
  } finally {
    silence.end();
  }
}

/** Notices that nothing arrives any more, not even the comments that keep a stream open. */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(): void {
    this.end();
    this.#timer = setTimeout(() => this.#controller.abort(new ConnectionError('nothing arrived')), LONGEST_SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  detector(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: (bytes, controller) => {
        this.begin();
        controller.enqueue(bytes);
      },
    });
  }
}
