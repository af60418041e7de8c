/**
 * The response of a media call as server-sent events. Its head is sent when there is an event, or after half a minute,
 * so that no proxy gives up: until then an error has a status, on which clients repeat the request by themselves, and
 * their repetition attaches to the task. Afterwards an error is an event.
 */
import { factsOf } from '../../domain/darkroom-error.ts';
import { frameOf, errorBody } from '../../text/encoder.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { problemOf } from '../app/errors.ts';
import { preferredWait, prefersAsync } from '../streams/long-poll.ts';
import { textProblemOf } from '../text/problem.ts';
import { KEEP_ALIVE, sendTextStream } from '../text/stream.ts';
import { runMediaCall } from './call.ts';
import type { MediaCall, MediaRequest } from './call.ts';

/** Half of the minute after which common proxies close a connection that is silent. */
export const STREAM_HEAD_MS = 30_000;

export interface StreamedCall {
  readonly request: MediaRequest;
  readonly call: MediaCall;
  /** Called before the head of the response is sent. */
  readonly setHeaders: () => void;
  /** The events of a task that has succeeded. @throws {RequestError} there are none. */
  readonly framesOf: (task: TaskDetail) => Promise<AsyncIterable<string>>;
}

/** @throws {RequestError} the task has failed, or this process stops, and nothing was sent. */
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
