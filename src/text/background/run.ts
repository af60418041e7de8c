/**
 * One attempt at a text call in the background (docs/decisions/0049). What it does can be repeated at any time: the
 * hold belongs to the call, only the last attempt records an outcome, and only what was recorded is settled.
 */
import pRetry from 'p-retry';
import type { Caller } from '../../accounts/authenticate.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import type { Queryable } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import { StoreUnavailableError } from '../../objects/stores/store-unavailable-error.ts';
import { accessEnded } from '../answer.ts';
import { errorBody } from '../error-body.ts';
import { estimatedSettlement } from '../money/text-call.ts';
import type { TextSettlement } from '../money/text-call.ts';
import { errorMembers, responseError } from '../responses/failure.ts';
import { wireUsage } from '../responses/response-object.ts';
import { TextFailure } from '../text-failure.ts';
import { createCallMoney } from './call-money.ts';
import type { CallMoney } from './call-money.ts';
import { WAITS_HOURS, beginAttempt, hasRoomFor, releaseAttempt } from './call-record.ts';
import type { BackgroundCall } from './call-record.ts';
import type { BackgroundContext, DecodedBackgroundCall } from './context.ts';
import { endedResponse } from './ended-response.ts';
import { EventRecorder, appendEvents } from './event-log.ts';
import type { StreamEvent } from './event-log.ts';
import { bookLostAttempts } from './lost-cost.ts';
import { recordOutcome, recordSeen } from './record-outcome.ts';
import type { CallOutcome } from './record-outcome.ts';

type Json = Readonly<Record<string, unknown>>;

/** Attempts whose processes may die before the call fails: it may be the call that kills them. */
const MAX_LOST_ATTEMPTS = 5;
/** How long a call waits for an upstream that is rate limited, with its money held. */
const WAITS_FOR_UPSTREAM_MINUTES = 10;
/** An answer is paid for: its record is retried while the database is unavailable, in milliseconds. */
const RECORD_RETRY = { retries: 30, minTimeout: 200, factor: 2, maxTimeout: 10_000 } as const;

/** `wait`: it cannot be answered at this moment, and not before so many milliseconds have passed. */
export type AttemptResult = { readonly kind: 'ended' } | { readonly kind: 'wait'; readonly ms: number };

const ENDED: AttemptResult = { kind: 'ended' };

/** What an attempt has come to, before it is recorded. */
type Finding =
  | { readonly kind: 'answered'; readonly answer: Json }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** It was stopped: the call was cancelled, or another attempt has begun. */
  | { readonly kind: 'stopped' };

/**
 * Runs a call until it has ended, has to wait, or is left to another attempt.
 *
 * @param signal aborted when this process stops or the attempt is no longer awaited.
 * @throws {Error} it is left to another attempt.
 */
export async function runBackgroundCall(
  context: BackgroundContext,
  id: string,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { database } = context;
  const hasRoom = await hasRoomFor(database, id);
  if (hasRoom === undefined) return ENDED;
  if (!hasRoom) return { kind: 'wait', ms: 0 };
  const call = await beginAttempt(database, id);
  if (call === undefined) return ENDED;
  const money = createCallMoney(context);
  if (call.lostAttempts > MAX_LOST_ATTEMPTS) {
    context.logger.error({ call: id, attempts: call.attempt }, 'text call in the background given up');
    return record(context, { call, money }, { kind: 'failed', error: new TextFailure('interrupted', 'given up') });
  }
  return new Attempt(context, call, money).run(signal);
}

class Attempt {
  readonly #context: BackgroundContext;
  readonly #call: BackgroundCall;
  readonly #money: CallMoney;
  readonly #controller = new AbortController();
  #decoded: DecodedBackgroundCall | undefined;
  #events: EventRecorder | undefined;

  constructor(context: BackgroundContext, call: BackgroundCall, money: CallMoney) {
    this.#context = context;
    this.#call = call;
    this.#money = money;
  }

  async run(signal: AbortSignal): Promise<AttemptResult> {
    const onStop = (): void => this.#controller.abort(new TextFailure('interrupted', 'the process stops'));
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) onStop();
    const unwatch = this.#context.watch.add(this.#call, () => this.#controller.abort());
    const until = new AbortController();
    let unregister = (): void => {};
    try {
      const finding = await this.#find(until.signal, (caller) => {
        unregister = this.#context.openResponses.register(caller, (reason) => this.#controller.abort(reason));
      });
      return await this.#conclude(finding, signal);
    } finally {
      unregister();
      until.abort();
      unwatch();
      await this.#events?.close();
      signal.removeEventListener('abort', onStop);
    }
  }

  /** Never throws. */
  async #find(until: AbortSignal, onCaller: (caller: Caller) => void): Promise<Finding> {
    const context = this.#context;
    const call = this.#call;
    try {
      const keyCaller = await context.authenticator.callerOfKey(call.keyId);
      const caller = call.spendCapIds === null ? keyCaller : { ...keyCaller, spendCapIds: call.spendCapIds };
      onCaller(caller);
      this.#decoded = await context.decode(call, { caller, until, ...(await context.readBody(call)) });
      return await this.#answer(caller, this.#decoded);
    } catch (error) {
      return this.#findingOf(error);
    }
  }

  async #answer(caller: Caller, { call }: DecodedBackgroundCall): Promise<Finding> {
    let failure: { readonly error: unknown } | undefined;
    let whole: Json | undefined;
    const { signal } = this.#controller;
    if (call.isStreamed) await this.#openEvents(call);
    const answer = await this.#context.textAnswers.answer(
      caller,
      {
        ...call,
        createdAt: createdAtOf(this.#call),
        money: this.#money,
        onAnswered: (response) => {
          whole = response;
          return Promise.resolve();
        },
        problemOf: (error) => {
          failure = { error };
          return this.#context.problemOf(error);
        },
      },
      this.#controller,
    );
    try {
      if (answer.kind === 'body') return { kind: 'answered', answer: answer.body };
      for await (const frame of answer.frames) {
        signal.throwIfAborted();
        await this.#events?.add(frame);
      }
    } finally {
      await answer.close();
    }
    if (whole !== undefined) return { kind: 'answered', answer: whole };
    return this.#findingOf(failure?.error);
  }

  async #openEvents({ deltas }: DecodedBackgroundCall['call']): Promise<void> {
    this.#events = await EventRecorder.open(this.#context.database, this.#call);
    // What was recorded before, in place of this attempt's first event, has numbers as well.
    for (let before = 1; before < this.#events.next; before++) deltas?.note({});
  }

  #findingOf(error: unknown): Finding {
    const { signal } = this.#controller;
    const ended = accessEnded(signal);
    if (ended !== undefined) return { kind: 'failed', error: ended };
    return signal.aborted && !(signal.reason instanceof TextFailure) ? { kind: 'stopped' } : { kind: 'failed', error };
  }

  async #conclude(finding: Finding, signal: AbortSignal): Promise<AttemptResult> {
    const { database } = this.#context;
    if (finding.kind === 'stopped') {
      const settlement = this.#money.settlement();
      if (settlement !== undefined) await settleSeen(this.#context, this.#call, settlement);
      return ENDED;
    }
    if (finding.kind === 'failed') {
      const { error } = finding;
      if (signal.aborted) {
        await releaseAttempt(database, this.#call, false);
        signal.throwIfAborted();
      }
      if (isToBeRepeated(error)) {
        // A fault of ours counts as a lost attempt.
        if (isOutage(error)) await releaseAttempt(database, this.#call, false).catch(() => {});
        throw error;
      }
      const waitMs = this.#waitFor(error);
      if (waitMs !== undefined) {
        await releaseAttempt(database, this.#call, this.#money.settlement() === undefined);
        return { kind: 'wait', ms: waitMs };
      }
    }
    await this.#events?.close();
    const concluded = { call: this.#call, money: this.#money, decoded: this.#decoded, events: this.#events };
    return record(this.#context, concluded, finding);
  }

  /** @returns how long to wait before another attempt; undefined: the call has failed. */
  #waitFor(error: unknown): number | undefined {
    if (!(error instanceof DarkroomError)) return undefined;
    const nowSeconds = this.#context.now() / 1000;
    const isOfUpstream = error instanceof TextFailure && error.reason === 'upstream_rate_limited';
    const isOfAccount = error.kind === 'rate_limited' || error instanceof ShareExhaustedError;
    if (!isOfUpstream && !isOfAccount) return undefined;
    const endsAt = isOfUpstream
      ? this.#call.startedAt + WAITS_FOR_UPSTREAM_MINUTES * 60
      : this.#call.createdAt + WAITS_HOURS * 3_600;
    if (nowSeconds >= endsAt) return undefined;
    return (error.retryAfterSeconds ?? 0) * 1_000;
  }
}

/** Unix seconds, as its response has been read already. */
function createdAtOf({ response, createdAt }: BackgroundCall): number {
  const shown = response?.['created_at'];
  return typeof shown === 'number' ? shown : Math.floor(createdAt);
}

/** What says nothing about the call: an outage, or a fault of ours. */
function isToBeRepeated(error: unknown): boolean {
  return isOutage(error) || !(error instanceof DarkroomError);
}

/** What the call needs is unavailable: the database, or for the line of a batch the store. */
function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof StoreUnavailableError;
}

interface Concluded {
  readonly call: BackgroundCall;
  readonly money: CallMoney;
  readonly decoded?: DecodedBackgroundCall | undefined;
  readonly events?: EventRecorder | undefined;
}

async function record(
  context: BackgroundContext,
  { call, money, decoded, events }: Concluded,
  finding: Exclude<Finding, { kind: 'stopped' }>,
): Promise<AttemptResult> {
  const { database, ledger } = context;
  const nothing = estimatedSettlement({ id: call.id, accountId: call.accountId, inputTokens: 0 }, 0n);
  const settlement = money.settlement() ?? nothing;
  const outcome = outcomeOf(context, { call, decoded, settlement, events }, finding);
  const last = lastEvents(context, outcome, finding);
  const recordMore = async (transaction: Queryable): Promise<void> => {
    await bookLostAttempts(transaction, call, decoded?.call.model);
    if (events !== undefined) await events.finish(transaction, last);
    else if (call.isStreamed && call.batchId === null) await appendEvents(transaction, call.id, last);
  };
  const isRecorded = await pRetry(() => recordOutcome(database, call, outcome, recordMore), {
    ...RECORD_RETRY,
    shouldRetry: ({ error }) => error instanceof DatabaseUnavailableError,
  });
  if (isRecorded) ledger.settle(settlement);
  else await settleSeen(context, call, settlement);
  return ENDED;
}

/** Settles a call that was cancelled meanwhile; one of which another attempt has begun is left to that. */
async function settleSeen(
  { database, ledger }: BackgroundContext,
  call: BackgroundCall,
  settlement: TextSettlement,
): Promise<void> {
  if (await recordSeen(database, call, settlement)) ledger.settle(settlement);
}

function outcomeOf(
  context: BackgroundContext,
  { call, decoded, settlement, events }: Omit<Concluded, 'money'> & Pick<CallOutcome, 'settlement'>,
  finding: Exclude<Finding, { kind: 'stopped' }>,
): CallOutcome {
  const isLine = call.batchId !== null;
  if (finding.kind === 'answered') {
    const { answer } = finding;
    const response = decoded?.toSave?.(answer);
    return { state: 'answered', settlement, response, ...(isLine ? { answer } : {}) };
  }
  const problem = context.problemOf(finding.error);
  // What is paid is shown, even of a failure: its key was revoked meanwhile.
  const usage = settlement.capturedMicroUsd > 0n ? wireUsage(settlement.usage) : null;
  const changes = { ...events?.failedResponse, status: 'failed', error: responseError(problem), usage } as const;
  return {
    state: 'failed',
    settlement,
    error: { status: problem.status, body: errorBody(problem) },
    response: isLine ? undefined : endedResponse(call, changes, context.now()),
  };
}

/** The end of the stream of a response: it is decided by what is recorded, and not by what the attempt has sent. */
function lastEvents(
  context: BackgroundContext,
  { response: saved }: CallOutcome,
  finding: Exclude<Finding, { kind: 'stopped' }>,
): readonly StreamEvent[] {
  const response = saved?.response ?? {};
  const last = { type: `response.${String(response['status'])}`, response };
  if (finding.kind === 'answered') return [last];
  return [{ type: 'error', ...errorMembers(context.problemOf(finding.error)) }, last];
}
