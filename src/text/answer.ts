/**
 * The path of one text call (contract §9): what the model can do, what the call costs at worst, the hold, the answer,
 * and one settlement, whatever the outcome. No statement runs between the first byte and the last, except for the
 * images of the built-in tool (tools/image-turns.ts).
 *
 * What is captured: what was used, if the answer completed; what was seen by then, if the client disconnected or lost
 * its access; nothing, if the answer broke off on our side of it.
 */
import { AccountSuspendedError, UnauthenticatedError, requireModel } from '../accounts/authenticate.ts';
import type { Caller } from '../accounts/authenticate.ts';
import type { TextModelDefinition } from '../catalogue/text-definition.ts';
import type { Logger } from '../telemetry/log.ts';
import type { TextCallEnd, TextMetrics } from '../telemetry/metrics-work.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { RateLimitedError } from '../limits/rate-limiter.ts';
import type { Budget, RateLimiter } from '../limits/rate-limiter.ts';
import { isStorable } from '../tasks/record/storable-text.ts';
import type { AnswerEncoder, TextProblem } from './encoder.ts';
import { requireCap, requireFeatures } from './features.ts';
import type { ParameterNames } from './features.ts';
import type { NewTextCall } from './money/move.ts';
import { actualCost, plausibleUsage, worstCaseCost } from './money/price.ts';
import { createReportedInputs } from './money/reported-inputs.ts';
import type { InputBound } from './money/reported-inputs.ts';
import type { TextLedger } from './money/text-ledger.ts';
import { streamOf, wholeAnswer } from './render-answer.ts';
import type { StreamProgress } from './render-answer.ts';
import type { TextRequest } from './request.ts';
import type { DeltaRecorder } from './responses/replay.ts';
import type { ResponseEcho } from './responses/response-object.ts';
import type { OpenedAnswer, TextCall, TextSource, TextSurface } from './source.ts';
import { Tally } from './tally.ts';
import type { BilledUsage, UsageBounds } from './tally.ts';
import { InvalidTextRequest, TextFailure } from './text-failure.ts';
import type { TextThreads } from './threads/text-threads.ts';
import type { ImageTool } from './tools/image-tool.ts';
import { boundInputOfTurns, openImageTurns } from './tools/image-turns.ts';

export interface TextDependencies {
  readonly source: TextSource;
  /** Counts the tokens of requests. */
  readonly threads: Pick<TextThreads, 'countInput'>;
  readonly ledger: TextLedger;
  readonly rateLimiter: RateLimiter;
  readonly metrics: TextMetrics;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** One call, as decoded by an endpoint. */
export interface DecodedTextCall {
  readonly id: string;
  readonly surface: TextSurface;
  readonly parameters: ParameterNames;
  readonly model: TextModelDefinition;
  readonly request: TextRequest;
  readonly body: Readonly<Record<string, unknown>>;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** For the responses endpoint: the members of the request that the response object repeats. */
  readonly echo?: ResponseEcho;
  /** For responses that are streamed and stored. */
  readonly deltas?: DeltaRecorder;
  readonly isStreamed: boolean;
  /** For the responses endpoint: the built-in tool, if the model may call it. */
  readonly imageTool?: ImageTool | undefined;
  /** The response is stored: a client that requests it before it exists waits. */
  readonly isStored: boolean;
  /** When it was created, if that was before its answer is requested; Unix seconds. */
  readonly createdAt?: number;
  /** What the price is multiplied by: that of its model for the line of a batch. Absent: it is not. */
  readonly priceFactor?: string | undefined;
  /** Where its money is taken; absent: from the ledger. */
  readonly money?: Pick<TextLedger, 'hold' | 'settle'>;
  readonly encoder: (createdAt: number) => AnswerEncoder;
  /** As of `TextCall`. */
  readonly beforeSend?: TextCall['beforeSend'];
  /** As of `TextCall`. */
  readonly canWait?: boolean;
  /** Receives the whole answer once it exists, before the call is settled; must not throw. */
  readonly onAnswered?: (answer: Readonly<Record<string, unknown>>) => Promise<void>;
  /** An error as the endpoint reports it in the middle of a stream. */
  readonly problemOf: (error: unknown) => TextProblem;
}

/** An answer on its way to the client. Its holder must `close` it, read or not. */
export type TextAnswer = {
  /** Stops an answer that is still running, persists what has to be stored, and settles. Idempotent; never fails. */
  close(): Promise<void>;
} & (
  | { readonly kind: 'body'; readonly body: Readonly<Record<string, unknown>> }
  /** Each text is one server-sent event; the last is `[DONE]`. Never throws: errors are among the events. */
  | { readonly kind: 'stream'; readonly frames: AsyncIterable<string> }
);

/** What is to be held for a call. */
interface Terms {
  readonly hold: NewTextCall;
  readonly input: InputBound;
  readonly most: UsageBounds;
}

export interface TextAnswers {
  /**
   * Answers a call. Not streamed: the whole answer.
   *
   * @param controller aborted by the caller when the client disconnects, loses its access or the process stops, and by
   *   the answer's `close` while it is running.
   * @throws {InvalidTextRequest} @throws {ForbiddenError} @throws {RateLimitedError} @throws
   *   {InsufficientBalanceError}
   * @throws {SpendCapError} @throws {TooManyStreamsError} @throws {ShareExhaustedError} @throws {TextFailure} nothing
   *   is charged.
   */
  answer(caller: Caller, decoded: DecodedTextCall, controller: AbortController): Promise<TextAnswer>;
  /**
   * Performs the checks of a call that will be answered later.
   *
   * @returns what its answer will hold. @throws {InvalidTextRequest} @throws {ForbiddenError}
   */
  check(caller: Caller, decoded: Omit<DecodedTextCall, 'problemOf'>): Promise<NewTextCall>;
  /**
   * The number of input tokens of each of some requests of an account.
   *
   * @throws {ShareExhaustedError}
   * @throws {TextFailure}
   */
  readonly countInput: TextThreads['countInput'];
  /** Tokens per minute of an account. */
  tokenBudget(caller: Caller): Budget;
}

export function createTextAnswers(dependencies: TextDependencies): TextAnswers {
  const { source, threads, ledger, rateLimiter, metrics, logger, now } = dependencies;
  const reportedInputs = createReportedInputs();
  const tokenBudget = (caller: Caller): Budget => ({
    id: `tokens:${caller.accountId}`,
    perMinute: caller.textTokensPerMinute,
  });

  /** Performs every check that comes before the hold. @returns the counted input. */
  const validate = async (
    caller: Caller,
    { request, model, parameters, nextTurn }: Omit<DecodedTextCall, 'problemOf'>,
  ): Promise<number> => {
    requireModel(caller, model.name);
    requireFeatures(request, model, parameters);
    requireCap(request, model, parameters);
    await nextTurn?.();
    const [inputTokens = 0] = await threads.countInput(caller.accountId, [request], model.contextTokens);
    if (inputTokens >= model.contextTokens) {
      const message = `${parameters.conversation}: more than ${model.contextTokens} tokens, the context of ${model.name}, answer included`;
      throw new InvalidTextRequest(parameters.conversation, message, 'context_length_exceeded');
    }
    return inputTokens;
  };

  const takeTokens = async (caller: Caller, inputTokens: number): Promise<void> => {
    const budget = tokenBudget(caller);
    const waitSeconds = await rateLimiter.take(budget, Math.min(inputTokens, budget.perMinute));
    if (waitSeconds > 0) throw new RateLimitedError(waitSeconds, 'tokens');
  };

  const termsOf = async (
    caller: Caller,
    decoded: Omit<DecodedTextCall, 'problemOf'>,
    inputTokens: number,
  ): Promise<Terms> => {
    const { model, request, body, priceFactor } = decoded;
    const room = model.contextTokens - inputTokens;
    const maxOutputTokens = Math.min(request.maxOutputTokens ?? model.maxOutputTokens, room);
    const bounded = { accountId: caller.accountId, model, request, body, countedTokens: inputTokens };
    await decoded.nextTurn?.();
    const input = await reportedInputs.bound(bounded);
    const inputOfAll = await boundInputOfTurns(decoded, input.tokens, maxOutputTokens);
    const bounds = { inputTokens: inputOfAll, maxOutputTokens, choices: request.choices };
    const hold = {
      id: decoded.id,
      accountId: caller.accountId,
      keyId: caller.keyId,
      model: model.name,
      heldMicroUsd: worstCaseCost(model.pricing, bounds, priceFactor),
      floorMicroUsd: actualCost(model.pricing, emptyUsage(inputTokens), priceFactor),
      inputTokens,
      isStored: decoded.isStored,
      spendCapIds: caller.spendCapIds,
      endUser: endUserOf(body),
    };
    const most = {
      inputTokens: await boundInputOfTurns(decoded, input.withoutReports, maxOutputTokens),
      outputTokens: maxOutputTokens * request.choices,
    };
    return { hold, input, most };
  };

  const open = (
    { imageTool: tool, nextTurn }: DecodedTextCall,
    call: TextCall,
    signal: AbortSignal,
  ): Promise<OpenedAnswer> => {
    if (tool === undefined) return source.open(call, signal);
    const count = async (request: TextRequest): Promise<number> => {
      await nextTurn?.();
      const [tokens = 0] = await threads.countInput(call.accountId, [request], call.model.contextTokens);
      return tokens;
    };
    return openImageTurns({ source, tool, count, signal }, call);
  };

  return {
    tokenBudget,
    countInput: (accountId, requests, limit) => threads.countInput(accountId, requests, limit),

    async check(caller, decoded) {
      const { hold } = await termsOf(caller, decoded, await validate(caller, decoded));
      return hold;
    },

    async answer(caller, decoded, controller) {
      const { signal } = controller;
      const { money = ledger } = decoded;
      const inputTokens = await validate(caller, decoded);
      await takeTokens(caller, inputTokens);
      const { hold, input, most } = await termsOf(caller, decoded, inputTokens);
      const { heldMicroUsd } = hold;
      await money.hold(hold);
      const tally = new Tally(inputTokens, most);
      const createdAt = decoded.createdAt ?? Math.floor(now() / 1000);
      const {
        id,
        surface,
        model,
        request,
        body,
        nextTurn,
        beforeSend,
        canWait = false,
        isStreamed,
        echo,
        deltas,
      } = decoded;
      const call: TextCall = {
        id,
        accountId: caller.accountId,
        surface,
        model,
        request,
        body,
        nextTurn,
        beforeSend,
        canWait,
        isStreamed,
        tally,
        createdAt,
        ...(echo === undefined ? {} : { echo }),
        ...(deltas === undefined ? {} : { deltas }),
      };

      const settle = (end: TextCallEnd, usage: BilledUsage | undefined, error?: unknown): void => {
        metrics.ended(model.name, end, usage);
        const due = usage === undefined ? 0n : actualCost(model.pricing, usage, decoded.priceFactor);
        const isReported = usage?.isEstimated === false;
        const upstream = tally.answeredBy;
        const { wrongReport } = tally;
        if (wrongReport !== undefined && upstream !== undefined) {
          metrics.usageRejected(upstream);
          logger.error(
            { call: id, model: model.name, upstream, ...wrongReport, most },
            'impossible usage was reported',
          );
        }
        // The input of several turns is no bound for that of the first.
        if (isReported && upstream !== undefined && !tally.hasEarlierTurns) {
          input.reported(plausibleUsage(usage).inputTokens, upstream);
        }
        money.settle({
          id,
          accountId: caller.accountId,
          // The ledger captures the hold at most, and records what a report has beyond it as the operator's cost.
          capturedMicroUsd: isReported || due < heldMicroUsd ? due : heldMicroUsd,
          usage: usage ?? { ...emptyUsage(0), isEstimated: false },
          upstream: upstream ?? tally.failedAt,
          outcome: end,
          errorReason: end === 'failed' ? reasonOf(error) : undefined,
          lostRequests: tally.lostRequests(usage !== undefined),
          failedRequests: tally.failed,
        });
        if (usage !== undefined) rateLimiter.spend(tokenBudget(caller), tokensAfter(usage, inputTokens, tally));
      };

      // If the client disconnected while its money was being held, no upstream is called.
      const wasConnected = !signal.aborted;
      const openedAt = performance.now();
      const begun = (): void => metrics.begun(model.name, (performance.now() - openedAt) / 1000);
      try {
        const opened = await open(decoded, call, signal);
        if (!isStreamed) {
          const whole = await wholeAnswer(opened, decoded, call);
          begun();
          await decoded.onAnswered?.(whole);
          settle('answered', tally.usage());
          return { kind: 'body', body: whole, close: () => Promise.resolve() };
        }
        begun();
        const closed = metrics.streaming();
        const progress: StreamProgress = { state: 'open', whole: undefined };
        let failure: unknown;
        let isClosed = false;
        return {
          kind: 'stream',
          frames: streamOf(opened, decoded, call, progress, (error) => {
            if (isGone(signal)) return accessEnded(signal);
            progress.state = 'failed';
            failure = error;
            logger.warn({ err: error, call: id, model: model.name }, 'answer interrupted');
            return error;
          }),
          async close() {
            if (isClosed) return;
            isClosed = true;
            closed();
            if (progress.state === 'open') controller.abort();
            if (progress.whole !== undefined) await decoded.onAnswered?.(progress.whole);
            settle(ENDS[progress.state], progress.state === 'failed' ? undefined : tally.usage(), failure);
          },
        };
      } catch (error) {
        const hasGone = isGone(signal);
        settle(hasGone ? 'gone' : 'failed', wasConnected && hasGone ? tally.usage() : undefined, error);
        throw error;
      }
    },
  };
}

/** The end user that a request names, at both endpoints (contract §9.2). One that PostgreSQL cannot store is not kept. */
function endUserOf(body: Readonly<Record<string, unknown>>): string | undefined {
  const named = body['safety_identifier'] ?? body['user'];
  return typeof named === 'string' && named !== '' && isStorable(named) ? named : undefined;
}

/** Why a call failed, in a word that can be filtered by. */
function reasonOf(error: unknown): string {
  if (error instanceof TextFailure) return error.reason;
  return error instanceof DarkroomError ? error.kind : 'internal';
}

/** Whether the client ended the call: a stop for another reason has an error of its own. */
function isGone(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof TextFailure);
}

/**
 * Why a call was ended whose caller lost its access. It is reported, and settled like the call of a client that
 * disconnected: what was seen is paid.
 */
export function accessEnded({ reason }: AbortSignal): UnauthenticatedError | AccountSuspendedError | undefined {
  return reason instanceof UnauthenticatedError || reason instanceof AccountSuspendedError ? reason : undefined;
}

function emptyUsage(inputTokens: number): BilledUsage {
  return { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0, isEstimated: true };
}

/** What a call takes from the tokens per minute after its first turn, whose input was taken before it. */
function tokensAfter(usage: BilledUsage, inputTokens: number, tally: Tally): number {
  const { inputTokens: all, outputTokens } = plausibleUsage(usage);
  return outputTokens + (tally.hasEarlierTurns ? Math.max(0, all - inputTokens) : 0);
}

/** How a stream that is closed in a state ended: one that is still open no longer has a reader. */
const ENDS = { open: 'gone', over: 'answered', failed: 'failed' } as const satisfies Record<
  StreamProgress['state'],
  TextCallEnd
>;
