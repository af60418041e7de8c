/**
 * Responses in the background over HTTP (contract §9.6): everything that can be checked is checked before one is
 * accepted, and its stream is read from the record, whichever process generates it.
 */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { Queryable } from '../../database/database.ts';
import { newId, newTextCallId, responseIdForKey } from '../../domain/ids.ts';
import { attachRetry, awaitResponse, markReceived, releaseResponse } from '../../tasks/create/awaited-responses.ts';
import type { Fingerprint } from '../../tasks/record/fingerprint.ts';
import { appendEvents, findRecordedStream } from '../../text/background/event-log.ts';
import { admitWaiting, insertBackgroundCall, isAccepted, takeKey } from '../../text/background/queue.ts';
import type { KeyedRequest } from '../../text/background/queue.ts';
import { cancelCall } from '../../text/background/record-outcome.ts';
import { requireCovered } from '../../text/money/hold-one-by-one.ts';
import type { ResponsesBody } from '../../text/responses/decode-request.ts';
import { responseObject } from '../../text/responses/response-object.ts';
import {
  ResponseNotFoundError,
  isResponseId,
  readResponse,
  streamResponse,
} from '../../text/responses/stored-responses.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';
import type { RouteRequest } from '../app/route.ts';
import { holdShareUntilClosed, setTextLimitHeaders } from '../middleware/limits.ts';
import {
  isAutomaticRetry,
  mismatchFor,
  parseIdempotencyKey,
  resultFingerprint,
  whenClosed,
} from '../middleware/repeated-requests.ts';
import { closedSignal, sendFrames } from './call.ts';
import { decodeResponseCall } from './decode-call.ts';
import { imageReader, withRecordedImages } from './task-images.ts';

type Json = Readonly<Record<string, unknown>>;
type Served = Pick<RouteRequest<never, unknown>, 'ctx' | 'caller'>;
type CreateRequest = Pick<RouteRequest<never, unknown>, 'ctx' | 'caller' | 'large'>;

/** A request to create one. */
interface Creation {
  readonly model: () => TextModelDefinition;
  readonly body: ResponsesBody;
  readonly fingerprint: Fingerprint;
}

/** A response that is accepted, by this request or an earlier one. */
interface Accepted {
  readonly id: string;
  readonly isReplay: boolean;
}

/**
 * @param model resolves the model of the request; throws if there is none. Not called for a request that was accepted
 *   before.
 * @returns the response object; undefined where it was sent as a stream.
 */
export async function createInBackground(
  http: HttpContext,
  request: CreateRequest,
  model: () => TextModelDefinition,
  body: ResponsesBody,
): Promise<Json | undefined> {
  const { ctx, caller } = request;
  const key = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
  const isStreamed = body.stream === true;
  if (isStreamed) await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
  await request.large?.nextTurn();
  const creation = { model, body, fingerprint: resultFingerprint(caller, { 'POST /v1/responses': body }) };
  // With a key, the key alone decides which requests are one.
  const { id, isReplay } =
    key === undefined
      ? await createAwaited(http, request, creation)
      : await createKeyed(http, request, creation, key).catch((error: unknown) =>
          Promise.reject(mismatchFor(caller, error) as Error),
        );
  if (isReplay) ctx.set('Idempotent-Replay', 'true');
  setTextLimitHeaders(http, ctx, caller);
  // That of an attempt before may have ended, with images.
  if (!isStreamed) return readWithImages(http, request, id);
  await (isReplay ? sendStreamAgain(http, request, id) : sendBackgroundStream(http, request, id, undefined));
  return undefined;
}

/** Without a key: an automatic retry attaches to the response of the attempt before. */
async function createAwaited(http: HttpContext, request: CreateRequest, creation: Creation): Promise<Accepted> {
  const { database, logger } = http;
  const { ctx, caller } = request;
  const awaited = { accountId: caller.accountId, keyId: caller.keyId, fingerprint: creation.fingerprint };
  const waiter = newId('req');
  const attached = isAutomaticRetry(ctx)
    ? await attachRetry(http.accountDatabase(caller.accountId), awaited, waiter)
    : undefined;
  const id = attached ?? newTextCallId('responses');
  if (attached === undefined) {
    await accept(http, request, { ...creation, id }, async (transaction) => {
      await awaitResponse(transaction, awaited, id, waiter);
      return true;
    });
  }
  whenClosed(ctx.res, (isFinished) => {
    const recorded = isFinished ? markReceived(database, id) : releaseResponse(database, id, waiter);
    // If it is not recorded, a retry gets the same response again.
    recorded.catch((error: unknown) => {
      logger.warn({ err: error, call: id }, 'recording the end of a response failed');
    });
  });
  return { id, isReplay: false };
}

/** @throws {IdempotencyMismatchError} the key belongs to another request. */
async function createKeyed(
  http: HttpContext,
  request: CreateRequest,
  creation: Creation,
  key: string,
): Promise<Accepted> {
  const { accountId } = request.caller;
  const id = responseIdForKey(http.installationId, accountId, key);
  const keyed: KeyedRequest = { responseId: id, accountId, fingerprint: creation.fingerprint };
  if (await isAccepted(http.database, keyed)) return { id, isReplay: true };
  try {
    const isFirst = await accept(http, request, { ...creation, id }, (transaction) => takeKey(transaction, keyed));
    return { id, isReplay: !isFirst };
  } catch (error) {
    // An equal request that was accepted meanwhile may be the reason.
    if (await isAccepted(http.database, keyed)) return { id, isReplay: true };
    throw error;
  }
}

function readWithImages(http: HttpContext, { ctx, caller }: Served, id: string): Promise<Json> {
  const complete = imageReader(http, { caller, until: () => closedSignal(ctx.res) });
  return readResponse(http.database, caller.accountId, id, { complete, now: http.now() });
}

/**
 * Checks a request, and accepts it.
 *
 * @param claim what else belongs to the transaction. @returns false: an equal request was accepted before.
 */
async function accept(
  http: HttpContext,
  { ctx, caller, large }: CreateRequest,
  { id, model: resolve, body }: Creation & Pick<Accepted, 'id'>,
  claim: (transaction: Queryable) => Promise<boolean>,
): Promise<boolean> {
  const model = resolve();
  const decoding = { id, caller, nextTurn: large?.nextTurn, until: () => closedSignal(ctx.res) };
  const { call } = await decodeResponseCall(http, model, body, decoding);
  await requireCovered(http.database, await http.textAnswers.check(caller, call));
  const { echo, isStreamed } = call;
  if (echo === undefined) throw new Error('a call of the Responses API has no `echo`');
  const createdAt = Math.floor(http.now() / 1000);
  const response = responseObject(
    { id, createdAt, model: model.name, echo },
    { status: 'queued', output: [], completedAt: null, incompleteReason: null, error: null, usage: null },
  );
  const { accountId, keyId, spendCapIds } = caller;
  const accepted = { id, accountId, keyId, surface: 'responses', isStreamed, spendCapIds, request: body } as const;
  await large?.nextTurn();
  const isFirst = await http.accountDatabase(accountId).transaction(async (transaction) => {
    if (!(await claim(transaction))) return false;
    await insertBackgroundCall(transaction, { ...accepted, response });
    if (!isStreamed) return true;
    const types = ['response.created', 'response.queued'];
    await appendEvents(
      transaction,
      id,
      types.map((type) => ({ type, response })),
    );
    return true;
  });
  if (isFirst) http.wakeDueWork();
  return isFirst;
}

/** The stream of a response that was accepted long ago has no record any more. */
async function sendStreamAgain(http: HttpContext, request: CreateRequest, id: string): Promise<void> {
  const { ctx, caller } = request;
  const { accountId } = caller;
  if ((await findRecordedStream(http.database, accountId, id)) !== undefined) {
    await sendBackgroundStream(http, request, id, undefined);
    return;
  }
  const complete = imageReader(http, { caller, until: () => closedSignal(ctx.res) });
  await sendFrames(http, request, await streamResponse(http.database, accountId, id, { complete, now: http.now() }));
}

/**
 * Sends the stream of a response in the background, from its record. If this process ends before the response has, the
 * connection is cut, so that the client does not take it for the end.
 *
 * @param startingAfter the number of the last event that is left out; undefined: none is.
 */
export async function sendBackgroundStream(
  http: HttpContext,
  { ctx, caller }: Served,
  id: string,
  startingAfter: number | undefined,
): Promise<void> {
  const { closing } = http.backgroundFeed;
  const onClosing = (): void => void ctx.res.destroy();
  closing.addEventListener('abort', onClosing);
  if (closing.aborted) onClosing();
  try {
    const frames = http.backgroundFeed.follow(id, closedSignal(ctx.res));
    const wanted = without(frames, (startingAfter ?? -1) + 1);
    await sendFrames(http, { ctx, caller }, withRecordedImages(http, caller, wanted));
  } finally {
    closing.removeEventListener('abort', onClosing);
  }
}

/** Leaves out the first ones. They are numbered from 0 without a gap. */
async function* without(frames: AsyncIterable<string>, count: number): AsyncGenerator<string> {
  let index = 0;
  for await (const frame of frames) {
    if (index >= count) yield frame;
    index += 1;
  }
}

/**
 * Cancels a response in the background. One that has ended stays as it is.
 *
 * @returns the response. @throws {ResponseNotFoundError} @throws {InvalidTextRequest} it is not in the background.
 */
export async function cancelResponse(http: HttpContext, request: Served, id: string): Promise<Json> {
  if (!isResponseId(id)) throw new ResponseNotFoundError(id);
  const { accountId } = request.caller;
  if (await cancelCall(http.accountDatabase(accountId), { id, accountId }, http.now())) {
    await admitWaiting(http, id);
    http.wakeDueWork();
  }
  const response = await readWithImages(http, request, id);
  if (response['background'] === true) return response;
  const message = `the response ${id} was created without background, and only a response in the background can be cancelled`;
  throw new InvalidTextRequest(undefined, message);
}
