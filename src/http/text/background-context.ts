/** Assembles what text calls in the background need (src/text/background/), with the decoding of the endpoints. */
import type { Caller } from '../../accounts/authenticate.ts';
import { readLineBody } from '../../batches/read-line.ts';
import { isRecord } from '../../domain/json-members.ts';
import type { BackgroundCall } from '../../text/background/call-record.ts';
import type { BackgroundContext, DecodedBackgroundCall } from '../../text/background/context.ts';
import { createAttemptWatch } from '../../text/background/watch.ts';
import { checkChatBody } from '../../text/chat/decode-request.ts';
import type { TextLedger } from '../../text/money/text-ledger.ts';
import { checkResponsesBody } from '../../text/responses/decode-request.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, problemOf } from '../app/errors.ts';
import { decodeChatCall } from './chat-call.ts';
import { textProblemOf } from './problem.ts';
import { decodeResponseCall } from './response-call.ts';

/** A request of more bytes is decoded in turns, like one that is received (http/bodies/json-body.ts). */
const LARGE_BYTES = 100_000;

type Body = Readonly<Record<string, unknown>>;

export function createBackgroundContext(http: HttpContext, ledger: TextLedger): BackgroundContext {
  return {
    ...http,
    ledger,
    watch: createAttemptWatch(http),
    readBody: (call) => readBody(http, call),
    decode: async (call, request) => withPriceOf(call, await decode(http, call, request)),
    problemOf: (error) => textProblemOf(problemOf(error)),
  };
}

/** A line of a batch may have a lower price. */
function withPriceOf({ batchId }: BackgroundCall, decoded: DecodedBackgroundCall): DecodedBackgroundCall {
  if (batchId === null) return decoded;
  return { ...decoded, call: { ...decoded.call, priceFactor: decoded.call.model.pricing.batchFactor } };
}

async function readBody(
  http: HttpContext,
  { request, requestBytes, batchId, line, lineBegin }: BackgroundCall,
): Promise<{ readonly body: Body; readonly bytes: number }> {
  if (request !== null) return { body: request, bytes: requestBytes };
  if (batchId === null || line === null || lineBegin === null) throw new Error('a call that is open has no request');
  const { body, bytes } = await readLineBody(http, batchId, { line, byte: lineBegin });
  if (!isRecord(body)) throw invalidRequest('invalid request: the body is not a JSON object');
  return { body, bytes };
}

async function decode(
  http: HttpContext,
  { id, surface }: BackgroundCall,
  {
    caller,
    body,
    bytes,
    until,
  }: { readonly caller: Caller; readonly body: Body; readonly bytes: number; readonly until: AbortSignal },
): Promise<DecodedBackgroundCall> {
  // Like a request that is received, it counts as long as its answer takes.
  const allowance = http.bodies.ofAccount(caller);
  until.addEventListener('abort', () => allowance.release());
  allowance.hold(bytes);
  const nextTurn = bytes > LARGE_BYTES ? () => http.turns.next() : undefined;
  const request = { id, caller, nextTurn, until: () => until };
  await nextTurn?.();
  if (surface === 'chat') {
    const checked = checkChatBody(body);
    return { call: await decodeChatCall(http, http.catalogue.resolveText(checked.model), checked, request) };
  }
  const checked = checkResponsesBody(body);
  return decodeResponseCall(http, http.catalogue.resolveText(checked.model), checked, request);
}
