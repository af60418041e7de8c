/**
 * A call of one of OpenAI's media endpoints: creates a task, or attaches to the one of an earlier attempt, and waits
 * for its end on the event feed. The task is independent of the connection: a client that disconnects leaves it running.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ParameterizedContext } from 'koa';
import type { ErrorCode } from '@darkroom/api/facts/error-kinds';
import { requireModel } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import type { ResolvedModel } from '../../catalogue/catalogue.ts';
import type { MediaEndpointName } from '../../catalogue/openai-endpoints.ts';
import { MEDIA_ENDPOINTS } from '../../catalogue/openai-endpoints.ts';
import { newId } from '../../domain/ids.ts';
import { isTerminal } from '../../domain/task-status.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import {
  attachRetry,
  attachRetryToOther,
  claimResponse,
  forgetResponse,
  markReceived,
  releaseResponse,
} from '../../tasks/create/awaited-responses.ts';
import type { AwaitedRequest } from '../../tasks/create/awaited-responses.ts';
import { InvalidTaskError } from '../../tasks/create/create.ts';
import { factsOf as factsOfBody } from '../../tasks/record/body-facts.ts';
import { forgetPieces } from '../../tasks/record/output-pieces.ts';
import { readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { openAiCodeOf } from '../../schema/openai-parse.ts';
import { createBudget, setRateLimitHeaders } from '../app/register-routes.ts';
import type { RequestState } from '../app/request-state.ts';
import { DEPRECATION_HEADERS, setDeprecationHeaders } from '../middleware/deprecation.ts';
import { isAutomaticRetry, mismatchFor, resultFingerprint, whenClosed } from '../middleware/automatic-retry.ts';
import { parseIdempotencyKey } from '../middleware/idempotency-key.ts';
import { setOpenAiLimitHeaders } from '../middleware/openai-limits.ts';
import { holdShareUntilClosed } from '../middleware/waiting-responses.ts';
import { respondWithTask } from '../routes/task-response.ts';
import { preferredWait, prefersAsync, waitForStatusChange } from '../streams/long-poll.ts';
import { failureOf, requestFieldOf } from './failure.ts';
import type { FieldNames } from './failure.ts';
import type { LiveFile } from './live-file.ts';

/** The longest wait on the feed at once, in seconds: no task is in progress for as long, and a timer takes it. */
const LONGEST_WAIT_SECONDS = 1_000_000;

const NO_TURNS = (): Promise<void> => Promise.resolve();

export interface MediaCall {
  readonly endpoint: MediaEndpointName;
  readonly model: ResolvedModel;
  /** The body of the task (`CreateTaskSchema`). */
  readonly task: Readonly<Record<string, unknown>>;
  /** The request as the client sent it: two with the same one are equal. */
  readonly sent: Readonly<Record<string, unknown>>;
  /** Fields of the input whose field in the request is another than the rules of the model say. */
  readonly fieldOf?: Readonly<Record<string, string>>;
  /** Whether the request has taken its token from the budget of creates already. */
  readonly isBudgeted?: boolean;
  /** A task was created for this request. */
  onCreated?(): void;
  /** Listens to the file of the task, if the response can begin while the file is being generated. */
  listen?(taskId: TaskId): Promise<LiveFile>;
  /** The task exists, and the response waits for its end. */
  onWaiting?(): void;
}

export type MediaRequest = { readonly ctx: ParameterizedContext<RequestState>; readonly caller: Caller };

/** Errors of every one of these endpoints, */
export const MEDIA_ERRORS = [
  'MODEL_UNAVAILABLE',
  'INSUFFICIENT_BALANCE',
  'IDEMPOTENCY_KEY_MISMATCH',
  'NOT_FOUND',
  'TASK_PRUNED',
] as const satisfies readonly ErrorCode[];
/** and of those that take files. */
export const MEDIA_FORM_ERRORS = [
  ...MEDIA_ERRORS,
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies readonly ErrorCode[];

/** Request headers of these endpoints. */
export const MEDIA_REQUEST_HEADERS = {
  'Idempotency-Key':
    '1-255 visible ASCII characters. Repeating a request with the same key and the same body never creates a second task.',
  Prefer:
    '`respond-async` returns 202 with the task at once. `wait=N` returns it after N seconds, at most 30, unless the task has ended before.',
  'X-Stainless-Retry-Count':
    "Sent by OpenAI's clients: above 0, the request is an automatic retry, which attaches to the task of the attempt before.",
};

/** Response headers of these endpoints. */
export function mediaResponseHeaders(http: HttpContext): Readonly<Record<string, string>> {
  return {
    [taskIdHeader(http)]: 'The id of the task. Also sent with errors, once there is a task.',
    'openai-processing-ms': 'How long the request took, in milliseconds.',
    ...DEPRECATION_HEADERS,
  };
}

/** The metadata of the task of a request that names its end user. */
export function metadataOf(fields: { readonly user?: string | null; readonly safety_identifier?: string | null }): {
  readonly metadata?: { readonly user: string };
} {
  const user = fields.safety_identifier ?? fields.user;
  return user == null ? {} : { metadata: { user } };
}

/** The response header with the id of the task. */
export function taskIdHeader({ config }: HttpContext): string {
  return `${config.callbacks.headerPrefix}-Task-Id`;
}

/** The response header that names the fields of a request that were ignored, and its description. */
export function warningHeaderOf(http: HttpContext): Readonly<Record<string, string>> {
  return { [warningHeader(http)]: 'The fields that were ignored, and why.' };
}

function warningHeader({ config }: HttpContext): string {
  return `${config.callbacks.headerPrefix}-Warning`;
}

/** Says in a header of the response which fields were ignored, if any were. */
export function warnOfIgnored(
  http: HttpContext,
  { ctx }: Pick<MediaRequest, 'ctx'>,
  { definition }: MediaCall['model'],
  fields: readonly string[],
): void {
  if (fields.length === 0) return;
  ctx.set(warningHeader(http), `${fields.join(', ')}: ignored, the model ${definition.name} does not have it`);
}

/**
 * Does the work of a request, and sets the headers that every response of these endpoints has.
 *
 * @param work sends the head of the response only after it has called `setHeaders`, or leaves that to others.
 */
export async function withMediaHeaders<Result>(
  http: HttpContext,
  { ctx, caller }: MediaRequest,
  work: (setHeaders: () => void) => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const setHeaders = (): void => {
    const budget = createBudget(caller);
    ctx.set('openai-processing-ms', String(Math.round(performance.now() - startedAt)));
    setOpenAiLimitHeaders(http, ctx, 'requests', budget);
    setRateLimitHeaders(http, ctx, budget);
  };
  try {
    return await work(setHeaders);
  } finally {
    if (!ctx.headerSent) setHeaders();
  }
}

/**
 * Runs a task to its end.
 *
 * @returns the task, which has succeeded; undefined: the response was the task itself (202), the client is gone, or a
 *   response that had begun broke off.
 * @throws {RequestError} the task has failed, or this process stops.
 */
export async function runMediaCall(
  http: HttpContext,
  request: MediaRequest,
  call: MediaCall,
): Promise<TaskDetail | undefined> {
  const { ctx, caller } = request;
  requireModel(caller, call.model.definition.name);
  setDeprecationHeaders(ctx, call.model.definition);
  const prefer = ctx.get('Prefer');
  const isAsync = prefersAsync(prefer);
  const seconds = preferredWait(prefer) ?? (isAsync ? 0 : undefined);
  // Before there is a task: where as many wait as may, the client is to try again.
  if (seconds !== 0) await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
  const response = await startResponse(http, request, call);
  call.onWaiting?.();
  for (;;) {
    const live = seconds === undefined ? await listen(ctx, call, response.taskId()) : undefined;
    const task = await waitForEnd(http, request, response, seconds, live).catch((error: unknown) => {
      if (live?.isSending() !== true) throw error;
      live.abort();
      return 'disconnected' as const;
    });
    if (task === 'disconnected') return undefined;
    if (task === 'another') {
      live?.close();
      continue;
    }
    if (!isTerminal(task.status)) {
      response.isSent();
      await respondAccepted(http, request, task, prefer);
      return undefined;
    }
    if (live !== undefined) forgetFile(http, task.id);
    if (task.status === 'fail') {
      await forgetResponse(http.database, task.id);
      if (live?.isSending() !== true) throw failureOf(task, call);
      live.abort();
      return undefined;
    }
    if (live?.isSending() === true || (await response.isOurs())) {
      response.isSent();
      return task;
    }
    live?.close();
  }
}

/** Listens to the file of a task for as long as the response is open. */
async function listen({ res }: MediaRequest['ctx'], call: MediaCall, taskId: TaskId): Promise<LiveFile | undefined> {
  const live = await call.listen?.(taskId);
  if (live === undefined) return undefined;
  if (res.closed) live.close();
  else res.once('close', () => live.close());
  return live;
}

/** Not awaited: the expiry pass deletes what cannot be deleted now. */
function forgetFile({ database, logger }: HttpContext, taskId: TaskId): void {
  forgetPieces(database, taskId).catch((error: unknown) => {
    logger.debug({ err: error, taskId }, 'deleting the pieces of a file failed');
  });
}

/**
 * Creates a task whose client polls it: the response is sent at once. Automatic retries attach as they do where the
 * response waits.
 *
 * @returns the task, in whatever state.
 */
export async function startMediaCall(http: HttpContext, request: MediaRequest, call: MediaCall): Promise<TaskDetail> {
  const { ctx, caller } = request;
  requireModel(caller, call.model.definition.name);
  setDeprecationHeaders(ctx, call.model.definition);
  const response = await startResponse(http, request, call);
  while (!(await response.isOurs()));
  const task = await readTask(http.database, response.taskId(), caller.accountId);
  response.isSent();
  return task;
}

/** The response to one request, and the task that it waits for. */
interface MediaResponse {
  taskId(): TaskId;
  /**
   * Claims the result of the task. If the request of an equal client has it, the response may wait for another task.
   *
   * @returns false: for that one.
   */
  isOurs(): Promise<boolean>;
  /** What is sent from here on is the result, and not an error after which the client tries again. */
  isSent(): void;
}

async function startResponse(http: HttpContext, request: MediaRequest, call: MediaCall): Promise<MediaResponse> {
  const { ctx, caller } = request;
  const { database } = http;
  const ofAccount = http.accountDatabase(caller.accountId);
  const { path } = MEDIA_ENDPOINTS[call.endpoint];
  const print = resultFingerprint(caller, { [`POST ${path}`]: call.sent });
  const awaited: AwaitedRequest = { accountId: caller.accountId, keyId: caller.keyId, fingerprint: print };
  const key = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
  // With a key, the key alone decides which requests are one.
  const waiter = key === undefined ? newId('req') : undefined;
  const attached =
    waiter === undefined || !isAutomaticRetry(ctx) ? undefined : await attachRetry(ofAccount, awaited, waiter);
  let taskId =
    attached !== undefined && isTaskId(attached)
      ? attached
      : await createTask(http, request, call, { key, waiter, print });
  const tried = [taskId];
  ctx.set(taskIdHeader(http), taskId);
  let isSent = false;
  if (waiter !== undefined) {
    whenClosed(ctx.res, (isFinished) => {
      const isReceived = isSent && isFinished;
      const recorded = isReceived ? markReceived(database, taskId) : releaseResponse(database, taskId, waiter);
      // If it is not recorded, a retry gets the result again.
      recorded.catch((error: unknown) => {
        http.logger.warn({ err: error, taskId: taskId }, 'recording the end of a response failed');
      });
    });
  }
  return {
    taskId: () => taskId,
    async isOurs() {
      if (waiter === undefined || (await claimResponse(database, taskId, waiter))) return true;
      const other = await attachRetryToOther(ofAccount, awaited, waiter, tried);
      if (other === undefined) return true;
      taskId = other;
      tried.push(other);
      ctx.set(taskIdHeader(http), other);
      return false;
    },
    isSent() {
      isSent = true;
    },
  };
}

async function createTask(
  http: HttpContext,
  { ctx, caller }: MediaRequest,
  call: MediaCall,
  { key, waiter, print }: { key: string | undefined; waiter: string | undefined; print: AwaitedRequest['fingerprint'] },
): Promise<TaskId> {
  const budget = createBudget(caller);
  const take = {
    take: () => http.rateLimiter.take(budget),
    giveBack: () => http.rateLimiter.giveBack(budget),
  };
  const facts = { ...factsOfBody(call.task), fingerprint: print };
  const large = { facts, nextTurn: NO_TURNS };
  const created = await http.taskCreator
    .create(caller, call.task, key, call.isBudgeted === true ? undefined : take, large, waiter)
    .catch((error: unknown) => Promise.reject(inFieldsOf(call, mismatchFor(caller, error)) as Error));
  if (created.isReplay) ctx.set('Idempotent-Replay', 'true');
  else {
    call.onCreated?.();
    ctx.state.createdTaskId = created.taskId;
    http.wakeLauncher(created.claimed);
  }
  return created.taskId;
}

/** An error about the input, with the name that its field has in the request. */
export function inFieldsOf<Failure>(call: FieldNames, error: Failure): Failure | RequestError {
  if (!(error instanceof InvalidTaskError) || !error.param.startsWith('input.')) return error;
  const { keyword, valueKind } = error;
  const own = error.param.slice('input.'.length);
  const field = requestFieldOf(call, own);
  if (field === undefined) return error;
  const message = error.message.replace(`invalid input: ${own}:`, `invalid request: ${field}:`);
  return new RequestError('invalid_request', message, {
    param: field,
    keyword,
    code: openAiCodeOf({ keyword, valueKind }),
    cause: error,
  });
}

/**
 * Waits for the end of a task, and begins the response before it if there is a part of the file.
 *
 * @param seconds how long the client waits; undefined: until the task has ended.
 * @returns `another`: the request of an equal client has the file of the task, and the response waits for another task.
 */
async function waitForEnd(
  http: HttpContext,
  request: MediaRequest,
  response: MediaResponse,
  seconds: number | undefined,
  live: LiveFile | undefined,
): Promise<TaskDetail | 'disconnected' | 'another'> {
  const { ctx, caller } = request;
  const taskId = response.taskId();
  const read = () => http.taskReader.read(taskId, caller.accountId);
  const first = await read();
  if (isTerminal(first.status) || seconds === 0) return first;
  // Of the later statuses there is only the last.
  const ended = waitForStatusChange(http, caller, taskId, 'archiving', seconds ?? LONGEST_WAIT_SECONDS, ctx.res);
  if (live !== undefined && (await Promise.race([live.hasBegun, ended])) === 'begun') {
    if (!(await response.isOurs())) return 'another';
    response.isSent();
    live.begin();
  }
  await ended;
  if (ctx.res.destroyed) return 'disconnected';
  const task = await read();
  if (!http.isReady() && !ctx.headerSent) ctx.set('Connection', 'close');
  if (isTerminal(task.status) || seconds !== undefined) return task;
  // A response that has begun cannot be repeated elsewhere: it goes on for as long as this process does.
  if (live?.isSending() === true) return untilEnded(ctx, read);
  throw stopping(taskId);
}

const READ_INTERVAL_MS = 500;

async function untilEnded(
  { res }: MediaRequest['ctx'],
  read: () => Promise<TaskDetail>,
): Promise<TaskDetail | 'disconnected'> {
  for (;;) {
    await sleep(READ_INTERVAL_MS);
    if (res.destroyed) return 'disconnected';
    const task = await read();
    if (isTerminal(task.status)) return task;
  }
}

/** This process stops: the same request at another one continues to wait for the task. */
function stopping(taskId: TaskId): RequestError {
  const message = `this process stops, and the task ${taskId} continues; repeat the request to get its result`;
  return new RequestError('unavailable', message, {
    code: 'server_stopping',
    retryAfterSeconds: 1,
    headers: { 'x-should-retry': 'true', Connection: 'close' },
  });
}

/** The response of a client that does not wait for the result. */
async function respondAccepted(
  http: HttpContext,
  { ctx }: MediaRequest,
  task: TaskDetail,
  prefer: string,
): Promise<void> {
  const wire = await respondWithTask(ctx, http, task);
  const wait = preferredWait(prefer);
  const applied = [prefersAsync(prefer) ? 'respond-async' : '', wait === undefined ? '' : `wait=${wait}`];
  ctx.status = 202;
  ctx.set('Preference-Applied', applied.filter((each) => each !== '').join(', '));
  ctx.set('Location', `/v1/tasks/${task.id}`);
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify(wire);
}
