/** The client: what people do with Darkroom, in the words that they use for it. */
import type { RequestOptions } from '@darkroom/api/client/api-client';
import { isTerminal } from '@darkroom/api/facts/task-status';
import { createBatches } from './batches.ts';
import type { Batches } from './batches.ts';
import { TaskFailedError, TimeoutError, itemError } from './errors.ts';
import { createFiles } from './files.ts';
import type { FileData, Files } from './files.ts';
import type {
  Account,
  Estimate,
  Output,
  Task,
  TaskEvent,
  TaskPage,
  TaskRequest,
  UploadedFile,
} from './generated/types.ts';
import { createModels } from './models.ts';
import type { Models } from './models.ts';
import type {
  ApiRequest,
  CallOptions,
  DarkroomOptions,
  ListQuery,
  NewTask,
  RunOptions,
  SubmitOptions,
  SubmitOutcome,
  SubmittedTask,
  SubscribeOptions,
  TaskReference,
  WaitOptions,
} from './options.ts';
import { Requester, pause } from './requests.ts';
import { apiUrlOf, randomKey, requireCount } from './settings.ts';
import { subscribe } from './task-events.ts';
import { createTokens } from './tokens.ts';
import type { Tokens } from './tokens.ts';
import { webhooks } from './webhooks.ts';
import type { Webhooks } from './webhooks.ts';

const TIMEOUT_MS = 60_000;
const MAX_RETRIES = 5;
/** Half a minute is the longest that the API waits (contract §3.6). */
const POLL_SECONDS = 20;
/** Before the next request if the API responded early without a change: the process is stopping. */
const EARLY_PAUSE_MS = 1_000;
/** A wait for a task survives a restart of the service: some two minutes. */
const WAIT_RETRIES = 20;

export class Darkroom {
  /** The URL of the API, which ends in `/v1`. */
  readonly baseUrl: string;
  readonly models: Models;
  readonly files: Files;
  readonly batches: Batches;
  readonly tokens: Tokens;
  readonly webhooks: Webhooks = webhooks;
  readonly #requester: Requester;

  /** @throws {TypeError} the base URL or a setting is not usable. */
  constructor({ baseUrl, apiKey, timeoutMs, maxRetries, fetch: send }: DarkroomOptions) {
    if (apiKey === undefined || apiKey === '') throw new TypeError('apiKey is missing: pass an API key of the service');
    this.baseUrl = apiUrlOf(baseUrl);
    this.#requester = new Requester({
      baseUrl: this.baseUrl,
      apiKey,
      timeoutMs: requireCount('timeoutMs', timeoutMs ?? TIMEOUT_MS, 1),
      maxRetries: requireCount('maxRetries', maxRetries ?? MAX_RETRIES, 0),
      // Browsers accept their own function only as a function of the window.
      fetch: send ?? ((url, init) => globalThis.fetch(url, init)),
    });
    this.models = createModels(this.#requester);
    this.files = createFiles(this.#requester);
    this.batches = createBatches(this.#requester, this.files);
    this.tokens = createTokens(this.#requester);
  }

  /**
   * Creates a task, waits for its end and returns its outputs.
   *
   * @throws {TaskFailedError} the task failed. @throws {ApiError} it was not accepted. @throws {ConnectionError}
   */
  async run(model: string, input: TaskRequest['input'], options: RunOptions = {}): Promise<readonly Output[]> {
    const { waitMs, onUpdate, cancelOnAbort = false, ...submitting } = options;
    const { signal, timeoutMs, maxRetries } = options;
    const { taskId } = await this.submit(model, input, submitting);
    try {
      const task = await this.wait(taskId, { signal, timeoutMs, maxRetries, waitMs, onUpdate });
      if (task.status === 'fail') throw new TaskFailedError(task);
      return task.output ?? [];
    } catch (error) {
      if (cancelOnAbort && signal?.aborted === true) await this.cancel(taskId, { timeoutMs, maxRetries });
      throw error;
    }
  }

  /** Creates a task and returns its id at once. @throws as `run`. */
  async submit(model: string, input: TaskRequest['input'], options: SubmitOptions = {}): Promise<SubmittedTask> {
    const { signal, timeoutMs, maxRetries, idempotencyKey = randomKey(), ...rest } = options;
    const { taskId } = await this.#requester.call<{ readonly taskId: string }>(
      'POST',
      '/tasks',
      { body: { model, input, ...rest }, headers: { 'Idempotency-Key': idempotencyKey } },
      { signal, timeoutMs, maxRetries },
    );
    return { taskId, idempotencyKey };
  }

  /**
   * Creates up to 1,000 tasks in one request.
   *
   * @returns what became of each, in their order: those that are rejected do not affect the others.
   * @throws {ApiError} nothing was created: the request as a whole was rejected. @throws {ConnectionError}
   */
  async submitMany(tasks: readonly NewTask[], options: CallOptions = {}): Promise<readonly SubmitOutcome[]> {
    const keyed = tasks.map(({ idempotencyKey = randomKey(), ...task }) => ({ ...task, idempotencyKey }));
    const { results } = await this.#requester.call<{ readonly results: readonly ItemResult[] }>(
      'POST',
      '/tasks:batch',
      { body: { tasks: keyed } },
      options,
    );
    return keyed.map(({ idempotencyKey }, index) => outcomeOf(results[index], idempotencyKey));
  }

  /** Estimates the cost of a task, and returns everything that is wrong with it. Creates nothing. */
  estimate(model: string, input: TaskRequest['input'], options: SubmitOptions = {}): Promise<Estimate> {
    const { signal, timeoutMs, maxRetries, idempotencyKey: _key, ...rest } = options;
    const body = { model, input, ...rest };
    return this.#requester.call('POST', '/tasks/estimate', { body }, { signal, timeoutMs, maxRetries });
  }

  /**
   * Waits until a task has ended.
   *
   * @returns the task, whether it succeeded or failed.
   * @throws {TimeoutError} it did not end within `waitMs`; it continues. @throws {ApiError} @throws {ConnectionError}
   */
  async wait(task: TaskReference, options: WaitOptions = {}): Promise<Task> {
    const { waitMs = Infinity, onUpdate, maxRetries = WAIT_RETRIES, ...rest } = options;
    const calling = { ...rest, maxRetries };
    const begunAt = Date.now();
    let current = await this.get(task, calling);
    for (;;) {
      onUpdate?.(current);
      if (isTerminal(current.status)) return current;
      const askedAt = Date.now();
      const leftSeconds = Math.ceil((begunAt + waitMs - askedAt) / 1000);
      if (leftSeconds <= 0) {
        throw new TimeoutError(`the task ${current.taskId} did not end within ${waitMs} ms; it continues`);
      }
      const seconds = Math.min(leftSeconds, POLL_SECONDS);
      const { status } = current;
      current = await this.#read(task, { headers: { Prefer: `wait=${seconds}` } }, calling);
      const isEarly = current.status === status && Date.now() - askedAt < (seconds * 1000) / 2;
      if (isEarly) await pause(Math.min(EARLY_PAUSE_MS, seconds * 1000), options.signal);
    }
  }

  /** Reads a task. Its URLs are fresh each time. */
  async get(task: TaskReference, options: CallOptions & { readonly includeInput?: boolean } = {}): Promise<Task> {
    const { includeInput = false, ...calling } = options;
    return this.#read(task, includeInput ? { query: { include: 'input' } } : {}, calling);
  }

  /** Lists one page of tasks, newest first. */
  list(query: ListQuery = {}, options: CallOptions = {}): Promise<TaskPage> {
    const { createdAfter, createdBefore, metadata = {}, ...rest } = query;
    const pairs = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
    return this.#requester.call(
      'GET',
      '/tasks',
      {
        query: {
          ...rest,
          created_after: createdAfter,
          created_before: createdBefore,
          ...(Object.fromEntries(pairs) as Record<string, string>),
        },
      },
      options,
    );
  }

  /** Yields all matching tasks, newest first, page by page. */
  async *listAll(query: ListQuery = {}, options: CallOptions = {}): AsyncGenerator<Task, void> {
    let { cursor } = query;
    for (;;) {
      const page = await this.list({ size: 100, ...query, cursor }, options);
      yield* page.tasks;
      cursor = page.nextCursor;
      if (cursor === undefined) return;
    }
  }

  /** Requests that a task be cancelled. @returns the task as it is; it may still be running for a moment. */
  async cancel(task: TaskReference, options: CallOptions = {}): Promise<Task> {
    return this.#requester.call('POST', `${taskPath(task)}/cancel`, {}, options);
  }

  /** Yields the events of a task as they occur, each once, until it has ended; a broken stream is resumed. */
  subscribe(task: TaskReference, options: SubscribeOptions = {}): AsyncGenerator<TaskEvent, void> {
    return subscribe(this.#requester, idOf(task), options);
  }

  /** Uploads a file; its `url` is for the input of a task. The same as `files.upload`. */
  upload(data: FileData, options: CallOptions = {}): Promise<UploadedFile> {
    return this.files.upload(data, options);
  }

  /** Downloads an output or a file. @returns the response, whose body has not been read. */
  download(file: { readonly url: string }, options: CallOptions = {}): Promise<Response> {
    return this.#requester.download(file.url, options);
  }

  /** Reads the account of the key: balance, limits and what is in use. */
  account(options: CallOptions = {}): Promise<Account> {
    return this.#requester.call('GET', '/account', {}, options);
  }

  /** Sends any other request of the API. @param path below `/v1`: `/account/usage`. @returns its `data`. */
  request<Data>(method: string, path: string, request: ApiRequest = {}, options: CallOptions = {}): Promise<Data> {
    return this.#requester.call(method, path, request, options);
  }

  /** The same for a response that is not JSON of this API, such as the bytes of OpenAI's endpoint for speech. */
  fetch(method: string, path: string, request: ApiRequest = {}, options: CallOptions = {}): Promise<Response> {
    return this.#requester.send(method, path, request, options);
  }

  #read(task: TaskReference, request: RequestOptions, options: CallOptions): Promise<Task> {
    return this.#requester.call('GET', taskPath(task), request, options);
  }
}

/** As the API answers an item of `POST /tasks:batch`. */
interface ItemResult {
  readonly status: number;
  readonly taskId?: string;
  readonly error?: { readonly message: string; readonly error_code: string };
}

function outcomeOf(result: ItemResult | undefined, idempotencyKey: string): SubmitOutcome {
  if (result?.taskId !== undefined) return { taskId: result.taskId, idempotencyKey };
  const { message = 'there is no result for this task', error_code: code = '' } = result?.error ?? {};
  return { idempotencyKey, error: itemError(result?.status ?? 500, message, code) };
}

function idOf(task: TaskReference): string {
  const id: unknown = typeof task === 'string' ? task : task.taskId;
  if (typeof id !== 'string' || id === '') throw new TypeError('the id of the task is missing');
  return id;
}

function taskPath(task: TaskReference): string {
  return `/tasks/${encodeURIComponent(idOf(task))}`;
}
