/**
 * What becomes of a text call in the background. Each way out is one conditional statement, so that of an answer, a
 * failure and a cancel at the same moment exactly one counts. The settlement is recorded with it and then made, so
 * that a process that is killed in between leaves it to any other.
 */
import pRetry from 'p-retry';
import type { Options } from 'p-retry';
import type { Database, Queryable, Statement } from '../../database/database.ts';
import type { TextLedger } from '../money/text-ledger.ts';
import { estimatedSettlement } from '../money/move.ts';
import type { TextSettlement } from '../money/move.ts';
import type { TextCallEnd } from '../../telemetry/metrics-work.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { errorBody } from '../encoder.ts';
import { decodeInput } from '../responses/decode-input.ts';
import type { UnnamedInputItem } from '../responses/items.ts';
import { errorMembers, responseError, wireUsage } from '../responses/response-object.ts';
import { saveResponse, saveUsage } from '../responses/stored-responses.ts';
import type { ResponseToSave } from '../responses/stored-responses.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { BackgroundCall, BackgroundState } from './call-record.ts';
import type { BackgroundContext, DecodedBackgroundCall } from './context.ts';
import { appendEvents } from './event-log.ts';
import type { EventRecorder, StreamEvent } from './event-log.ts';

type Json = Readonly<Record<string, unknown>>;

/** The response that a request would have got instead of its answer. */
export interface CallError {
  readonly status: number;
  readonly body: Json;
}

/** How a call ended. */
export interface CallOutcome {
  readonly state: Extract<BackgroundState, 'answered' | 'failed'>;
  /** For a line of a batch. */
  readonly answer?: Json | undefined;
  readonly error?: CallError | undefined;
  readonly settlement: TextSettlement;
  /** The response to store with it. */
  readonly response?: ResponseToSave | undefined;
}

const recordStatement: Statement = {
  name: 'record_background_outcome',
  text: `UPDATE background_calls
            SET state = $3, ended_at = now(), is_running = false, request = NULL, answer = $4::json, error = $5::json,
                settlement = $6::json
          WHERE id = $1 AND attempts = $2 AND ended_at IS NULL
      RETURNING id`,
};

/**
 * Records the outcome of an attempt, unless the call has ended or another attempt has begun.
 *
 * @param more what else belongs to the transaction.
 * @returns whether it was recorded: then its settlement is to be made.
 */
export async function recordOutcome(
  database: Database,
  { id, attempt }: Pick<BackgroundCall, 'id' | 'attempt'>,
  outcome: CallOutcome,
  more: (transaction: Queryable) => Promise<void> = () => Promise.resolve(),
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const values = [outcome.answer, outcome.error, settlementJson(outcome.settlement)].map(jsonOrNull);
    const recorded = await transaction.query(recordStatement, [id, attempt, outcome.state, ...values]);
    if (recorded.length === 0) return false;
    if (outcome.response !== undefined) await saveResponse(transaction, outcome.response);
    await more(transaction);
    return true;
  });
}

/**
 * An answer is paid for: its record is retried while the database or a thread is unavailable, in milliseconds. So is
 * the release of an attempt, which otherwise counts as alive as long as its process.
 */
export const RECORD_RETRY: Options = {
  retries: Infinity,
  minTimeout: 200,
  factor: 2,
  maxTimeout: 10_000,
  unref: true,
  shouldRetry: ({ error }) => error instanceof DarkroomError && error.waitsFor !== undefined,
};

/** What an attempt has come to, before it is recorded. */
export type Conclusion =
  | { readonly kind: 'answered'; readonly answer: Json }
  | { readonly kind: 'failed'; readonly error: unknown };

/** An attempt that has come to its end. */
interface Concluded {
  readonly call: BackgroundCall;
  /** Undefined: the attempt did not come as far as a hold. */
  readonly settlement: TextSettlement | undefined;
  readonly decoded: DecodedBackgroundCall | undefined;
  readonly events: EventRecorder | undefined;
}

/**
 * Records the end of a call, with its response and the end of its stream, and settles it.
 *
 * @returns false: another attempt has begun, and nothing was recorded.
 */
export async function concludeCall(
  context: BackgroundContext,
  { call, decoded, events, ...concluded }: Concluded,
  conclusion: Conclusion,
): Promise<boolean> {
  const { database, ledger } = context;
  const nothing = estimatedSettlement({ id: call.id, accountId: call.accountId, inputTokens: 0 }, 0n);
  const settlement = concluded.settlement ?? nothing;
  const isFailedResponse = conclusion.kind === 'failed' && call.batchId === null;
  const request = isFailedResponse ? await pRetry(() => context.readRequest(call), RECORD_RETRY) : null;
  const outcome = outcomeOf(context, { call, decoded, settlement, events, request }, conclusion);
  const last = lastEvents(context, outcome, conclusion);
  const recordMore = async (transaction: Queryable): Promise<void> => {
    if (events !== undefined) await events.finish(transaction, last);
    else if (call.isStreamed && call.batchId === null) await appendEvents(transaction, call.id, last);
  };
  const isRecorded = await pRetry(() => recordOutcome(database, call, outcome, recordMore), RECORD_RETRY);
  if (!isRecorded) return settleSeen(context, call, settlement);
  ledger.settle(settlement);
  return true;
}

function outcomeOf(
  context: BackgroundContext,
  {
    call,
    decoded,
    settlement,
    events,
    request,
  }: Omit<Concluded, 'settlement'> & Pick<CallOutcome, 'settlement'> & { readonly request: Json | null },
  conclusion: Conclusion,
): CallOutcome {
  const isLine = call.batchId !== null;
  if (conclusion.kind === 'answered') {
    const { answer } = conclusion;
    const response = decoded?.toSave?.(answer);
    return { state: 'answered', settlement, response, ...(isLine ? { answer } : {}) };
  }
  const problem = context.problemOf(conclusion.error);
  // What is paid is shown, even of a failure: its key was revoked meanwhile.
  const usage = settlement.capturedMicroUsd > 0n ? wireUsage(settlement.usage) : null;
  const changes = { ...events?.failedResponse, status: 'failed', error: responseError(problem), usage } as const;
  return {
    state: 'failed',
    settlement,
    error: { status: problem.status, body: errorBody(problem) },
    response: isLine ? undefined : endedResponse({ ...call, request }, changes, context.now()),
  };
}

/** The end of the stream of a response: it is decided by what is recorded, and not by what the attempt has sent. */
function lastEvents(
  context: BackgroundContext,
  { response: saved }: CallOutcome,
  conclusion: Conclusion,
): readonly StreamEvent[] {
  const response = saved?.response ?? {};
  const last = { type: `response.${String(response['status'])}`, response };
  if (conclusion.kind === 'answered') return [last];
  return [{ type: 'error', ...errorMembers(context.problemOf(conclusion.error)) }, last];
}

type EndedCall = Pick<BackgroundCall, 'id' | 'accountId' | 'response'> & {
  /** As it was sent. */
  readonly request: Json | null;
};

/**
 * The stored response of a call that has no answer: it failed, or was cancelled. It can be read, continued and deleted
 * like any other.
 *
 * @param changes to the response object as it was created. @param now milliseconds since 1970.
 */
function endedResponse(
  { id, accountId, request, response }: EndedCall,
  changes: Json & { readonly status: 'failed' | 'cancelled' },
  now: number,
): ResponseToSave {
  const { previous_response_id: previousId } = response ?? {};
  return {
    id,
    accountId,
    previousId: typeof previousId === 'string' ? previousId : undefined,
    now,
    response: { ...response, ...changes },
    input: inputOf(request),
  };
}

/** The input of a request, unless it refers to items elsewhere. */
function inputOf(request: Json | null): readonly UnnamedInputItem[] {
  const input = request?.['input'];
  if (typeof input !== 'string' && !Array.isArray(input)) return [];
  try {
    return decodeInput(input, { conversation: [], referenced: new Map() });
  } catch (error) {
    if (error instanceof InvalidTextRequest) return [];
    throw error;
  }
}

const lockOpen: Statement = {
  name: 'lock_open_background_call',
  text: `SELECT id, account_id AS "accountId", request, response, is_running AS "isRunning",
                is_streamed AS "isStreamed" FROM background_calls
          WHERE id = $1 AND account_id = $2 AND ended_at IS NULL FOR NO KEY UPDATE`,
};
const cancelStatement: Statement = {
  name: 'cancel_background_call',
  text: `UPDATE background_calls SET state = 'cancelled', ended_at = now(), request = NULL, settlement = $2::json
          WHERE id = $1`,
};

type OpenCall = Pick<BackgroundCall, 'id' | 'accountId' | 'response' | 'isStreamed'> & {
  readonly request: Readonly<Record<string, unknown>> | null;
  readonly isRunning: boolean;
};

/**
 * Cancels a response that has not ended. An attempt that is running notices it within a second, and settles what was
 * seen by then; without one nothing is paid, and the next pass releases what an earlier one held.
 *
 * @param now milliseconds since 1970. @returns whether it was open.
 */
export async function cancelCall(
  database: Database,
  { id, accountId }: Pick<BackgroundCall, 'id' | 'accountId'>,
  now: number,
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const [open] = await transaction.query<OpenCall>(lockOpen, [id, accountId]);
    if (open === undefined) return false;
    await transaction.query(cancelStatement, [id, open.isRunning ? null : NOTHING_USED]);
    const saved = endedResponse(open, { status: 'cancelled' }, now);
    await saveResponse(transaction, saved);
    const { response } = saved;
    if (open.isStreamed) await appendEvents(transaction, id, [{ type: 'response.cancelled', response }]);
    return true;
  });
}

const settleCancelled: Statement = {
  name: 'settle_cancelled_background_call',
  text: `UPDATE background_calls SET settlement = $3::json, is_running = false
          WHERE id = $1 AND ($2::integer IS NULL OR attempts = $2) AND state = 'cancelled' AND settlement IS NULL
      RETURNING id`,
};

/**
 * Records what was seen of a call that was cancelled while an attempt ran, in its response as well: what is paid is
 * shown there.
 *
 * @param attempt undefined: the last one has died. @returns whether it is to be settled so.
 */
export async function recordSeen(
  database: Database,
  { id, attempt }: Pick<BackgroundCall, 'id'> & { readonly attempt?: number },
  settlement: TextSettlement,
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const values = [id, attempt ?? null, JSON.stringify(settlementJson(settlement))];
    const rows = await transaction.query(settleCancelled, values);
    if (rows.length === 0) return false;
    const { usage } = settlement;
    if (usage.inputTokens + usage.outputTokens > 0) await saveUsage(transaction, id, usage);
    return true;
  });
}

/**
 * Settles a call that was cancelled meanwhile. Another one may be open and without an attempt, because the database has
 * lost the beginning of this one: the next attempt looks.
 *
 * @returns whether it was cancelled.
 */
export async function settleSeen(
  { database, ledger }: BackgroundContext,
  call: BackgroundCall,
  settlement: TextSettlement,
): Promise<boolean> {
  const isCancelled = await recordSeen(database, call, settlement);
  if (isCancelled) ledger.settle(settlement);
  return isCancelled;
}

/**
 * Calls that have ended and whose hold is open: their process has died before it settled them, or the database has lost
 * the settlement. A cancelled one of which nothing was reported pays its input, like every call whose process died.
 */
const selectUnsettled: Statement = {
  name: 'select_unsettled_background_calls',
  text: `SELECT b.id, b.account_id AS "accountId", b.settlement, t.floor_micro_usd AS "floorMicroUsd",
                t.input_tokens AS "inputTokens"
           FROM text_calls t JOIN background_calls b ON b.id = t.id
          WHERE t.settled_at IS NULL
            AND b.ended_at < now() - CASE WHEN b.settlement IS NULL THEN interval '1 minute' ELSE interval '10 seconds' END
          LIMIT $1`,
};

interface UnsettledRow {
  readonly id: string;
  readonly accountId: string;
  readonly settlement: SettlementJson | null;
  readonly floorMicroUsd: bigint;
  readonly inputTokens: number;
}

/** Settles at most `limit` calls that have ended and are not settled. @returns how many. */
export async function settleEndedCalls(
  database: Database,
  ledger: Pick<TextLedger, 'settle'>,
  limit: number,
): Promise<number> {
  const rows = await database.query<UnsettledRow>(selectUnsettled, [limit]);
  for (const { settlement, ...call } of rows) {
    if (settlement !== null) {
      ledger.settle(settlementOf(call, settlement));
      continue;
    }
    const estimated = estimatedSettlement(call, call.floorMicroUsd);
    if (await recordSeen(database, { id: call.id }, estimated)) ledger.settle(estimated);
  }
  return rows.length;
}

/** A settlement as it is stored. */
interface SettlementJson {
  readonly capturedMicroUsd: string;
  readonly usage: TextSettlement['usage'];
  readonly upstream: string | null;
  readonly outcome?: TextCallEnd;
  readonly errorReason?: string | undefined;
  readonly lostRequests?: number | undefined;
}

function settlementJson(settlement: TextSettlement): SettlementJson {
  const { capturedMicroUsd, usage, upstream, outcome, errorReason, lostRequests } = settlement;
  return {
    capturedMicroUsd: String(capturedMicroUsd),
    usage,
    upstream: upstream ?? null,
    ...(outcome === undefined ? {} : { outcome }),
    ...(errorReason === undefined ? {} : { errorReason }),
    ...(lostRequests === undefined ? {} : { lostRequests }),
  };
}

function settlementOf(
  { id, accountId }: Pick<TextSettlement, 'id' | 'accountId'>,
  { capturedMicroUsd, upstream, ...rest }: SettlementJson,
): TextSettlement {
  return { ...rest, id, accountId, capturedMicroUsd: BigInt(capturedMicroUsd), upstream: upstream ?? undefined };
}

/** The settlement, as it is stored, of a call that ends while no attempt runs. */
export const NOTHING_USED = JSON.stringify(
  settlementJson(estimatedSettlement({ id: '', accountId: '', inputTokens: 0 }, 0n)),
);

function jsonOrNull(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
