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

async function readBody(http: HttpContext, { request, batchId, line, lineBegin }: BackgroundCall): Promise<Body> {
  if (request !== null) return request;
  if (batchId === null || line === null || lineBegin === null) throw new Error('a call that is open has no request');
  const body = await readLineBody(http, batchId, { line, byte: lineBegin });
  if (!isRecord(body)) throw invalidRequest('invalid request: the body is not a JSON object');
  return body;
}

async function decode(
  http: HttpContext,
  { id, surface, requestBytes, batchId }: BackgroundCall,
  { caller, body, until }: { readonly caller: Caller; readonly body: Body; readonly until: AbortSignal },
): Promise<DecodedBackgroundCall> {
  const isLarge = batchId !== null || requestBytes > LARGE_BYTES;
  const nextTurn = isLarge ? () => http.turns.next() : undefined;
  const request = { id, caller, nextTurn, until };
  await nextTurn?.();
  if (surface === 'chat') {
    const checked = checkChatBody(body);
    return { call: await decodeChatCall(http, http.catalogue.resolveText(checked.model), checked, request) };
  }
  const checked = checkResponsesBody(body);
  return decodeResponseCall(http, http.catalogue.resolveText(checked.model), checked, request);
}
