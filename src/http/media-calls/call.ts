/** The response to a call of one of OpenAI's media endpoints, which waits for the end of its task on the event feed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { requireModel } from '../../accounts/authenticate.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { isTerminal } from '@darkroom/api/facts/task-status';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { forgetResponse } from '../../tasks/create/awaited-responses.ts';
import { forgetPieces } from '../../tasks/record/output-pieces.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import { errorBody, frameOf } from '../../text/encoder.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError, problemOf, textProblemOf } from '../app/errors.ts';
import { holdShareUntilClosed } from '../middleware/limits.ts';
import { setDeprecationHeaders } from '../middleware/response-headers.ts';
import { respondWithTask } from '../routes/task-response.ts';
import { preferredWait, prefersAsync, waitForStatusChange } from '../streams/long-poll.ts';
import { KEEP_ALIVE, sendTextStream } from '../text/call.ts';
import { startResponse } from './create.ts';
import type { MediaCall, MediaResponse } from './create.ts';
import { failureOf } from './failure.ts';
import type { MediaRequest } from './headers.ts';
import type { LiveFile } from './live-file.ts';

/** The longest wait on the feed at once, in seconds: no task is in progress for as long, and a timer takes it. */
const LONGEST_WAIT_SECONDS = 1_000_000;
/** How often the task of a response that has begun is read once the feed has ended, in milliseconds. */
const READ_INTERVAL_MS = 500;
/** Half of the minute after which common proxies close a connection that is silent. */
export const STREAM_HEAD_MS = 30_000;

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

interface StreamedCall {
  readonly request: MediaRequest;
  readonly call: MediaCall;
  /** Called before the head of the response is sent. */
  readonly setHeaders: () => void;
  /** The events of a task that has succeeded. @throws {RequestError} there are none. */
  readonly framesOf: (task: TaskDetail) => Promise<AsyncIterable<string>>;
}

/**
 * Responds with server-sent events. The head is sent when there is an event, or after half a minute, so that no proxy
 * gives up: until then an error has a status, on which clients repeat the request by themselves, and their repetition
 * attaches to the task. Afterwards an error is an event.
 *
 * @throws {RequestError} the task has failed, or this process stops, and nothing was sent.
 */
export async function streamMediaCall(http: HttpContext, streamed: StreamedCall): Promise<undefined> {
  const { request, setHeaders, framesOf } = streamed;
  const { ctx } = request;
  let timer: NodeJS.Timeout | undefined;
  let sendHead = (): void => undefined;
  const headIsDue = new Promise<'head is due'>((resolve) => {
    sendHead = () => resolve('head is due');
  });
  const call: MediaCall = {
    ...streamed.call,
    onWaiting() {
      timer = setTimeout(sendHead, http.streamHeadMs);
    },
  };
  try {
    const running = runMediaCall(http, request, call).then((task) => (task === undefined ? undefined : framesOf(task)));
    // With `Prefer`, the response may be the task itself, with a status of its own.
    const first = await (prefers(ctx.get('Prefer')) ? running : Promise.race([running, headIsDue]));
    if (first === undefined) return;
    setHeaders();
    await sendTextStream(ctx, first === 'head is due' ? framesLater(http, ctx, running) : first);
  } finally {
    clearTimeout(timer);
  }
}

function prefers(header: string): boolean {
  return prefersAsync(header) || preferredWait(header) !== undefined;
}

async function* framesLater(
  http: Pick<HttpContext, 'logger'>,
  ctx: MediaRequest['ctx'],
  running: Promise<AsyncIterable<string> | undefined>,
): AsyncGenerator<string> {
  // Without a first write, the head would not leave this process.
  yield KEEP_ALIVE;
  let frames: AsyncIterable<string> | undefined;
  try {
    frames = await running;
  } catch (error) {
    yield errorFrame(http, ctx, error);
    return;
  }
  if (frames !== undefined) yield* frames;
}

/** An error in the form in which clients of OpenAI's streams expect it. */
function errorFrame(
  { logger }: Pick<HttpContext, 'logger'>,
  { state: { requestId } }: MediaRequest['ctx'],
  error: unknown,
): string {
  const problem = problemOf(error);
  const { status } = factsOf(problem.kind);
  if (status === 500) logger.error({ err: error, requestId }, 'request failed');
  else if (status > 500) logger.warn({ err: error, requestId }, 'request not served');
  return frameOf({ type: 'error', ...errorBody(textProblemOf(problem)) }, 'error');
}
