/**
 * Responses in the background over HTTP (contract §9.6): everything that can be checked is checked before one is
 * accepted, and its stream is read from the record, whichever process generates it.
 */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { newId, newTextCallId } from '../../domain/ids.ts';
import { attachRetry, awaitResponse, markReceived, releaseResponse } from '../../tasks/create/awaited-responses.ts';
import type { AwaitedRequest } from '../../tasks/create/awaited-responses.ts';
import { fingerprint } from '../../tasks/record/fingerprint.ts';
import { insertBackgroundCall } from '../../text/background/call-record.ts';
import { appendEvents } from '../../text/background/event-log.ts';
import { cancelCall } from '../../text/background/record-outcome.ts';
import { requireCovered } from '../../text/money/hold-one-by-one.ts';
import type { ResponsesBody } from '../../text/responses/decode-request.ts';
import { responseObject } from '../../text/responses/response-object.ts';
import { ResponseNotFoundError, isResponseId, readResponse } from '../../text/responses/stored-responses.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';
import type { RouteRequest } from '../app/route.ts';
import { isAutomaticRetry, whenClosed } from '../middleware/automatic-retry.ts';
import { holdShareUntilClosed } from '../middleware/waiting-responses.ts';
import { closedSignal } from './closed-signal.ts';
import { setTextLimitHeaders } from './limits.ts';
import { decodeResponseCall } from './response-call.ts';
import { imageReader, withRecordedImages } from './response-images.ts';
import { sendFrames } from './stream.ts';

type Json = Readonly<Record<string, unknown>>;
type Served = Pick<RouteRequest<never, unknown>, 'ctx' | 'caller'>;

/** @returns the response object; undefined where it was sent as a stream. */
export async function createInBackground(
  http: HttpContext,
  request: Pick<RouteRequest<never, unknown>, 'ctx' | 'caller' | 'large'>,
  model: TextModelDefinition,
  body: ResponsesBody,
): Promise<Json | undefined> {
  const { ctx, caller } = request;
  const isStreamed = body.stream === true;
  if (isStreamed) await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
  const waiter = newId('req');
  await request.large?.nextTurn();
  const print = fingerprint({ 'POST /v1/responses': body });
  const awaited = { accountId: caller.accountId, keyId: caller.keyId, fingerprint: print };
  const attached = isAutomaticRetry(ctx) ? await attachRetry(http.database, awaited, waiter) : undefined;
  const id = attached ?? (await accept(http, request, { model, body, awaited, waiter }));
  whenClosed(ctx.res, (isFinished) => {
    const recorded = isFinished ? markReceived(http.database, id) : releaseResponse(http.database, id, waiter);
    // If it is not recorded, a retry gets the same response again.
    recorded.catch((error: unknown) => {
      http.logger.warn({ err: error, call: id }, 'recording the end of a response failed');
    });
  });
  setTextLimitHeaders(http, ctx, caller);
  // That of an attempt before may have ended, with images.
  if (!isStreamed) return readWithImages(http, request, id);
  await sendBackgroundStream(http, request, id, undefined);
  return undefined;
}

function readWithImages(http: HttpContext, { ctx, caller }: Served, id: string): Promise<Json> {
  const complete = imageReader(http, { caller, until: closedSignal(ctx.res) });
  return readResponse(http.database, caller.accountId, id, { complete, now: http.now() });
}

async function accept(
  http: HttpContext,
  { ctx, caller, large }: Pick<RouteRequest<never, unknown>, 'ctx' | 'caller' | 'large'>,
  {
    model,
    body,
    awaited,
    waiter,
  }: {
    readonly model: TextModelDefinition;
    readonly body: ResponsesBody;
    readonly awaited: AwaitedRequest;
    readonly waiter: string;
  },
): Promise<string> {
  const id = newTextCallId('responses');
  const decoding = { id, caller, nextTurn: large?.nextTurn, until: closedSignal(ctx.res) };
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
  await http.database.transaction(async (transaction) => {
    await insertBackgroundCall(transaction, { ...accepted, response });
    await awaitResponse(transaction, awaited, id, waiter);
    if (!isStreamed) return;
    const types = ['response.created', 'response.queued'];
    await appendEvents(
      transaction,
      id,
      types.map((type) => ({ type, response })),
    );
  });
  http.wakeLauncher();
  return id;
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
  await cancelCall(http.database, { id, accountId }, http.now());
  const response = await readWithImages(http, request, id);
  if (response['background'] === true) return response;
  const message = `the response ${id} was created without background, and only a response in the background can be cancelled`;
  throw new InvalidTextRequest(undefined, message);
}
