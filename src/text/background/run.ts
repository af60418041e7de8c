/**
 * One attempt at a text call in the background (docs/decisions/0023). What it does can be repeated at any time: the
 * hold belongs to the call, only the last attempt records an outcome, and only what was recorded is settled.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import pRetry from 'p-retry';
import type { Caller } from '../../accounts/authenticate.ts';
import type { AccessEnded } from '../../accounts/open-responses.ts';
import { waitReasonOf } from '../../billing/ledger.ts';
import { DatabaseUnavailableError, UniqueViolationError } from '../../database/database.ts';
import type { Queryable, Statement } from '../../database/database.ts';
import { backoffMs } from '../../domain/waits.ts';
import type { Backoff } from '../../domain/waits.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { StoreUnavailableError } from '../../objects/stores/object-store.ts';
import { accessEnded } from '../answer.ts';
import { TooManyStreamsError } from '../money/hold-one-by-one.ts';
import type { NewTextCall, TextSettlement } from '../money/move.ts';
import type { TextLedger } from '../money/text-ledger.ts';
import { TextFailure } from '../text-failure.ts';
import { beginAttempt, markAttemptSent, releaseAttempt } from './call-record.ts';
import type { BackgroundCall, ReleasedAttempt } from './call-record.ts';
import type { BackgroundContext, DecodedBackgroundCall } from './context.ts';
import { EventRecorder } from './event-log.ts';
import { admitWaiting, hasRoomFor } from './queue.ts';
import { RECORD_RETRY, concludeCall, settleSeen } from './record-outcome.ts';
import type { Conclusion } from './record-outcome.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * Attempts whose processes may die, or whose upstreams may fail after they were sent the request, before the call fails:
 * it may be the call that does it.
 */
const MAX_LOST_ATTEMPTS = 5;
/** The wait after such a failure of an upstream, four times as long as the last one. */
const LOST_WAIT = { firstMs: 15_000, maxMs: 240_000 } as const;
/** The wait before another attempt, in milliseconds, where nothing asks for a longer one. */
const WAIT: Backoff = { firstMs: 1_000, maxMs: 30_000 };
/** The wait of a call whose turn it is next. There are few of them: no more are admitted than may run (queue.ts). */
const TURN_MS = 1_000;
/**
 * How long a call waits for an upstream that cannot answer at this moment, with its money held; that of a batch, as for
 * the rest.
 */
const WAITS_FOR_UPSTREAM_MINUTES = 10;

/**
 * `wait`: it cannot be answered at this moment, and not before so many milliseconds have passed. `turn`: it waits for
 * other calls of its account, which may end at any time, and no longer for each.
 */
export type AttemptResult =
  | { readonly kind: 'ended' }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'turn' };

const ENDED: AttemptResult = { kind: 'ended' };
const WAITS_FOR_TURN: AttemptResult = { kind: 'turn' };
const NEXT_ATTEMPT: AttemptResult = { kind: 'wait', ms: 0 };

/** What an attempt has come to; `stopped`: the call was cancelled, or another attempt has begun. */
type Finding = Conclusion | { readonly kind: 'stopped' };

/** What stops an attempt. */
export interface AttemptStops {
  /** Aborted when this process stops: an attempt that has sent nothing to an upstream is left to another process. */
  readonly stopping: AbortSignal;
  /** Aborted when the process has waited for upstreams for as long as it may. */
  readonly ending: AbortSignal;
}

/**
 * Runs a call until it has ended, has to wait, or is left to another attempt.
 *
 * @throws {Error} it is left to another attempt.
 */
export async function runBackgroundCall(
  context: BackgroundContext,
  id: string,
  stops: AttemptStops,
): Promise<AttemptResult> {
  stops.stopping.throwIfAborted();
  const { attempts } = context;
  // The attempt that is alive records its answer, whether anything awaits it or not.
  if (attempts.has(id)) return NEXT_ATTEMPT;
  attempts.add(id);
  const result = await attemptCall(context, id, stops).finally(() => attempts.delete(id));
  if (result.kind === 'ended') await admitWaiting(context, id);
  return result;
}

async function attemptCall(context: BackgroundContext, id: string, stops: AttemptStops): Promise<AttemptResult> {
  const { database } = context;
  const hasRoom = await hasRoomFor(database, id);
  if (hasRoom === undefined) return ENDED;
  if (!hasRoom) return WAITS_FOR_TURN;
  const call = await beginAttempt(database, id, context.ledger.processId);
  if (call === undefined) return NEXT_ATTEMPT;
  const attempt = new Attempt(context, call, createCallMoney(context));
  if (call.lostAttempts > MAX_LOST_ATTEMPTS) {
    context.logger.error({ call: id, attempts: call.attempt }, 'text call in the background given up');
    return attempt.end({ kind: 'failed', error: new TextFailure('interrupted', 'given up') });
  }
  return attempt.run(stops);
}

class Attempt {
  readonly #context: BackgroundContext;
  readonly #call: BackgroundCall;
  readonly #money: CallMoney;
  readonly #controller = new AbortController();
  #decoded: DecodedBackgroundCall | undefined;
  #events: EventRecorder | undefined;
  #isSent = false;

  constructor(context: BackgroundContext, call: BackgroundCall, money: CallMoney) {
    this.#context = context;
    this.#call = call;
    this.#money = money;
  }

  async run({ stopping, ending }: AttemptStops): Promise<AttemptResult> {
    const stop = ({ reason }: AbortSignal): void => {
      this.#controller.abort(new TextFailure('interrupted', 'the process stops', { cause: reason }));
    };
    const onStopping = (): void => {
      if (!this.#isSent) stop(stopping);
    };
    const onEnding = (): void => stop(ending);
    stopping.addEventListener('abort', onStopping, { once: true });
    ending.addEventListener('abort', onEnding, { once: true });
    if (stopping.aborted) onStopping();
    const unwatch = this.#context.watch.add(this.#call, () => this.#controller.abort());
    const until = new AbortController();
    let unregister = (): void => {};
    try {
      const finding = await this.#find(until.signal, (caller) => {
        // A line that has begun ends, is answered and charged, as a task is.
        if (this.#call.batchId !== null) return;
        unregister = this.#context.openResponses.register(caller, (reason) => void this.#endUnlessItPasses(reason));
      });
      return await this.#conclude(finding);
    } finally {
      unregister();
      until.abort();
      unwatch();
      await this.#events?.close();
      stopping.removeEventListener('abort', onStopping);
      ending.removeEventListener('abort', onEnding);
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
      this.#decoded = await context.decode(call, { caller, until });
      return await this.#answer(caller, this.#decoded);
    } catch (error) {
      return this.#findingOf(error);
    }
  }

  /** What has begun is paid for: it ends if its key has no successor, and not because its account is suspended. */
  async #endUnlessItPasses(reason: AccessEnded): Promise<void> {
    try {
      await this.#context.authenticator.callerOfKey(this.#call.keyId);
    } catch (error) {
      if (!(error instanceof DarkroomError) || error.waitsFor === undefined) this.#controller.abort(reason);
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
        beforeSend: () => this.#beforeSend(),
        canWait: true,
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

  async #beforeSend(): Promise<void> {
    const { signal } = this.#controller;
    signal.throwIfAborted();
    if (this.#isSent) return;
    this.#isSent = true;
    if (!(await markAttemptSent(this.#context.database, this.#call))) this.#controller.abort();
    signal.throwIfAborted();
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

  async #conclude(finding: Finding): Promise<AttemptResult> {
    if (finding.kind === 'stopped') {
      const settlement = this.#money.settlement();
      const isOver = settlement !== undefined && (await settleSeen(this.#context, this.#call, settlement));
      return isOver ? ENDED : NEXT_ATTEMPT;
    }
    if (finding.kind === 'failed') {
      const { error } = finding;
      const stopReason = interruptionOf(this.#controller.signal);
      if (stopReason !== undefined) {
        await this.#release();
        throw stopReason;
      }
      if (isToBeRepeated(error)) {
        await this.#release({ dueInMs: this.#waitMs(), isLost: !isOutage(error) });
        throw error;
      }
      const waiting = this.#waitOf(error);
      if (waiting !== undefined) {
        const isWaiting = this.#money.settlement() === undefined;
        const hasNoTurn = error instanceof TooManyStreamsError;
        const dueInMs = hasNoTurn ? TURN_MS : Math.max(waiting.ms, this.#waitMs());
        await this.#release({ dueInMs, isWaiting, waitingFor: waiting.reason, isLost: mayRecur(error) });
        return hasNoTurn ? WAITS_FOR_TURN : { kind: 'wait', ms: waiting.ms };
      }
    }
    return this.end(finding);
  }

  /** Records the end of the call. */
  async end(conclusion: Conclusion): Promise<AttemptResult> {
    await this.#events?.close();
    const settlement = this.#money.settlement();
    const concluded = { call: this.#call, settlement, decoded: this.#decoded, events: this.#events };
    try {
      return (await concludeCall(this.#context, concluded, conclusion)) ? ENDED : NEXT_ATTEMPT;
    } catch (error) {
      const lostRequests = this.#lost + (this.#isSent ? 1 : 0);
      await this.#release({ dueInMs: this.#waitMs(), isLost: true, lostRequests });
      throw error;
    }
  }

  async #release(released: ReleasedAttempt = {}): Promise<void> {
    const all = { lostRequests: this.#lost, ...released };
    await pRetry(() => releaseAttempt(this.#context.database, this.#call, all), RECORD_RETRY);
  }

  /** Spread, so that calls that were accepted together are not tried together. */
  #waitMs(): number {
    return Math.round(backoffMs(WAIT, Math.min(this.#call.attempt - 1, 10)) * (0.5 + Math.random() / 2));
  }

  /** Requests that upstreams may bill although the attempt has no answer. */
  get #lost(): number {
    const { lostRequests = 0, failedRequests = 0 } = this.#money.settlement() ?? {};
    return lostRequests + failedRequests;
  }

  /** What it waits for, and how many milliseconds at least; undefined: the error is the outcome. */
  #waitOf(error: unknown): { readonly reason: WaitReason; readonly ms: number } | undefined {
    if (!(error instanceof DarkroomError)) return undefined;
    // A call that has its money is among those that others wait for.
    const reason = this.#money.settlement() === undefined ? waitReasonOf(error) : error.waitsFor;
    if (reason === undefined) return undefined;
    const { batchId, startedAt, waitsUntil, lostAttempts } = this.#call;
    const isHeld = reason === 'model' && batchId === null;
    const until = isHeld ? startedAt + WAITS_FOR_UPSTREAM_MINUTES * 60 : waitsUntil;
    const leftMs = until * 1000 - this.#context.now();
    if (leftMs <= 0) return undefined;
    const ms = (error.retryAfterSeconds ?? 0) * 1_000;
    if (this.#lost === 0 && !mayRecur(error)) return { reason, ms };
    if (lostAttempts >= MAX_LOST_ATTEMPTS) return undefined;
    return { reason, ms: Math.max(ms, Math.min(Math.ceil(leftMs), backoffMs(LOST_WAIT, 2 * lostAttempts))) };
  }
}

/** Whether the call itself may be why it failed. */
function mayRecur(error: unknown): boolean {
  return error instanceof TextFailure && error.mayRecur;
}

/** Unix seconds, as its response has been read already. */
function createdAtOf({ response, createdAt }: BackgroundCall): number {
  const shown = response?.['created_at'];
  return typeof shown === 'number' ? shown : Math.floor(createdAt);
}

/** Why the process stopped an attempt; undefined: it did not. */
function interruptionOf({ reason }: AbortSignal): unknown {
  return reason instanceof TextFailure && reason.reason === 'interrupted' ? reason.cause : undefined;
}

/** What says nothing about the call: an outage, or a fault of ours. */
function isToBeRepeated(error: unknown): boolean {
  return isOutage(error) || !(error instanceof DarkroomError);
}

/** What the call needs is unavailable: the database, or for the line of a batch the store. */
function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof StoreUnavailableError;
}

const selectHold: Statement = {
  name: 'select_hold_of_background_call',
  text: 'SELECT 1 FROM text_calls WHERE id = $1',
};

/**
 * The money of one attempt. The hold belongs to the call: the first attempt that comes so far makes it, and later ones
 * find it. How the attempt would settle is kept here until its outcome is recorded.
 */
interface CallMoney extends Pick<TextLedger, 'hold' | 'settle'> {
  /** Undefined: the attempt did not come as far as a hold. */
  settlement(): TextSettlement | undefined;
}

function createCallMoney({
  database,
  ledger,
}: {
  readonly database: Queryable;
  readonly ledger: Pick<TextLedger, 'hold'>;
}): CallMoney {
  let settlement: TextSettlement | undefined;
  return {
    async hold(call: NewTextCall) {
      const held = await database.query(selectHold, [call.id]);
      if (held.length > 0) return;
      try {
        await ledger.hold({ ...call, isBackground: true });
      } catch (error) {
        // That of an earlier attempt has just arrived.
        if (!(error instanceof UniqueViolationError)) throw error;
      }
    },
    settle(made) {
      settlement = made;
    },
    settlement: () => settlement,
  };
}
