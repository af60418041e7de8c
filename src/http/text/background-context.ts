/** Assembles what text calls in the background need (src/text/background/), with the decoding of the endpoints. */
import type { Caller } from '../../accounts/authenticate.ts';
import { readLineBody } from '../../batches/line.ts';
import { isRecord } from '../../domain/json.ts';
import { createJsonScanner } from '../../domain/json-scanner.ts';
import { readRequest, createAttemptWatch } from '../../text/background/call-record.ts';
import type { BackgroundCall } from '../../text/background/call-record.ts';
import type { BackgroundContext, DecodedBackgroundCall } from '../../text/background/context.ts';
import { checkChatBody } from '../../text/chat/decode-request.ts';
import type { TextLedger } from '../../text/money/text-ledger.ts';
import { checkResponsesBody } from '../../text/responses/decode-request.ts';
import type { HttpContext } from '../app/context.ts';
import { invalidRequest, problemOf, textProblemOf } from '../app/errors.ts';
import { createLineBodies, parseJson } from '../bodies/json-body.ts';
import { decodeChatCall, decodeResponseCall } from './decode-call.ts';

export function createBackgroundContext(http: HttpContext, ledger: TextLedger): BackgroundContext {
  return {
    ...http,
    ledger,
    watch: createAttemptWatch(http),
    attempts: new Set(),
    readRequest: async (call) => {
      const { body } = await parseRequest(http, call);
      return isRecord(body) ? body : null;
    },
    decode: async (call, request) => withPriceOf(call, await decode(http, call, request)),
    problemOf: (error) => textProblemOf(problemOf(error)),
  };
}

/** A line of a batch may have a lower price. */
function withPriceOf({ batchId }: BackgroundCall, decoded: DecodedBackgroundCall): DecodedBackgroundCall {
  if (batchId === null) return decoded;
  return { ...decoded, call: { ...decoded.call, priceFactor: decoded.call.model.pricing.batchFactor } };
}

/** Reserves the memory for the request of a call, and reads it. */
function readBody(
  http: HttpContext,
  call: BackgroundCall,
  { until, hold }: { readonly until: AbortSignal; readonly hold: (bytes: number) => void },
): Promise<RequestBody> {
  const { requestBytes, batchId, line, lineBegin } = call;
  if (batchId !== null && line !== null && lineBegin !== null) {
    const reading = { ...http, nextTurn: () => http.turns.next(), lineBodies: createLineBodies(http) };
    return readLineBody(reading, batchId, { line, byte: lineBegin }, { signal: until, hold });
  }
  hold(requestBytes);
  return parseRequest(http, call);
}

interface RequestBody {
  readonly body: unknown;
  readonly isLarge: boolean;
}

/** Parses a request as it is stored, like one that is received. */
async function parseRequest(
  { database, bodyThreads: threads, turns }: HttpContext,
  { id, accountId: tenant }: BackgroundCall,
): Promise<RequestBody> {
  const bytes = new TextEncoder().encode(await readRequest(database, id));
  const scanner = createJsonScanner();
  scanner.push(bytes);
  const parsed = await parseJson(bytes, scanner.values, { threads, turns, tenant, factsOf: undefined });
  // There is none where the call has just ended.
  return parsed.kind === 'parsed'
    ? { body: parsed.value, isLarge: parsed.isLarge }
    : { body: undefined, isLarge: false };
}

async function decode(
  http: HttpContext,
  call: BackgroundCall,
  { caller, until }: { readonly caller: Caller; readonly until: AbortSignal },
): Promise<DecodedBackgroundCall> {
  // Like a request that is received, it counts as long as its answer takes.
  const allowance = http.bodies.ofAccount(caller);
  until.addEventListener('abort', () => allowance.release());
  const { body, isLarge } = await readBody(http, call, { until, hold: (bytes) => allowance.hold(bytes) });
  if (!isRecord(body)) throw invalidRequest('invalid request: the body is not a JSON object');
  const nextTurn = isLarge ? () => http.turns.next() : undefined;
  const request = { id: call.id, caller, nextTurn, until: () => until };
  await nextTurn?.();
  if (call.surface === 'chat') {
    const checked = checkChatBody(body);
    return { call: await decodeChatCall(http, http.catalogue.resolveText(checked.model), checked, request) };
  }
  const checked = checkResponsesBody(body);
  return decodeResponseCall(http, http.catalogue.resolveText(checked.model), checked, request);
}
