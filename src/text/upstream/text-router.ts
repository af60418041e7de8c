/**
 * Which of a model's upstreams answers a call. They are tried in the order of the model's file, those that
 * require a pause or are drained not at all, and those that fail repeatedly after the others, or not at all if the call
 * can wait. Another is tried only while nothing was emitted: opening an answer is what may be retried (source.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../telemetry/log.ts';
import type { OutgoingMetrics, UpstreamOutcome } from '../../telemetry/metrics-traffic.ts';
import type { UpstreamGate } from '../../upstreams/gate.ts';
import type { PauseReason } from '../../upstreams/states.ts';
import type { SecretSource } from '../../upstreams/secrets.ts';
import { textUpstreamName } from '../../upstreams/upstream-caps.ts';
import type { OpenedAnswer, TextCall, TextSource } from '../source.ts';
import { InvalidTextRequest, TextFailure } from '../text-failure.ts';
import type { TextFailureReason } from '../text-failure.ts';
import { createUpstreamHealth } from './health.ts';
import { createUpstreamTextSources } from './source.ts';
import type { UpstreamTextSource } from './source.ts';
import { UpstreamFailure } from './upstream-failure.ts';

/**
 * An upstream that could not be reached, or answered 5xx, is retried once, after this long: a server that restarts
 * takes a moment. A call that can wait is repeated later as a whole.
 */
const AGAIN_AFTER_MS = 250;

/** What a status says about our credential. 403 is no such status: some answer it to what they moderate. */
const CREDENTIAL_PROBLEMS: ReadonlyMap<number, PauseReason> = new Map([
  [401, 'unauthorized'],
  [402, 'out_of_credit'],
]);

/** Of the statuses from 500 on, the one that says that nothing was begun. */
const BUSY_STATUS = 503;

export interface TextRouterOptions {
  /** Answers for upstreams of protocol `embedded`. */
  readonly embedded: TextSource;
  /** The credentials of the others. */
  readonly secrets: SecretSource;
  readonly gate: Pick<UpstreamGate, 'stateOf' | 'report'>;
  readonly metrics: Pick<OutgoingMetrics, 'upstreamRequested'>;
  readonly logger: Logger;
  /** Milliseconds since 1970, by the clock of the calls' `createdAt`. */
  readonly now: () => number;
  /** Milliseconds from an arbitrary start, from a clock that is never set. */
  readonly steadyClock?: () => number;
}

export interface TextRouter extends TextSource {
  /** Ends the connections to upstreams, and with them all calls in progress. */
  close(): Promise<void>;
}

interface Candidate {
  readonly name: string;
  /** Our own, which never requires a pause. */
  readonly isOurs: boolean;
  /** Its circuit breaker is open. */
  readonly isFailing: boolean;
  readonly source: UpstreamTextSource;
}

export function createTextRouter(options: TextRouterOptions): TextRouter {
  const { embedded, secrets, gate, metrics, logger, now, steadyClock = () => performance.now() } = options;
  const upstreamSources = createUpstreamTextSources({ secrets, logger, now });
  const health = createUpstreamHealth({ gate, now: steadyClock });

  const candidatesOf = ({ model: { upstreams }, canWait = false }: TextCall): readonly Candidate[] => {
    const healthy: Candidate[] = [];
    const failing: Candidate[] = [];
    for (const upstream of upstreams) {
      const name = textUpstreamName(upstream);
      const isOurs = upstream.protocol === 'embedded';
      const source = isOurs ? embedded : upstreamSources.of(upstream);
      const isFailing = (upstreams.length > 1 || (canWait && !isOurs)) && health.isFailing(name);
      (isFailing ? failing : healthy).push({ name, isOurs, isFailing, source });
    }
    return [...healthy, ...failing];
  };

  /** Records the failure of an upstream. @throws every error after which no other upstream is to be tried. */
  const note = (error: unknown, { name }: Candidate, { id, model, tally }: TextCall): TextFailure => {
    tally.failedAt = name;
    if (error instanceof InvalidTextRequest) {
      health.answered(name);
      metrics.upstreamRequested(name, 'answered');
    }
    if (wasRejected(error)) tally.unanswered -= 1;
    if (!(error instanceof TextFailure)) throw error;
    const { reason, message } = error;
    const { pauseMs, isFinal, status, code } = error instanceof UpstreamFailure ? error.facts : {};
    if (status !== undefined && status >= 500 && status !== BUSY_STATUS) tally.failed += 1;
    if (reason === 'interrupted') throw error;
    const credentialProblem = CREDENTIAL_PROBLEMS.get(status ?? 0);
    if (credentialProblem !== undefined) health.rejectedCredential(name, credentialProblem);
    else if (reason === 'upstream_rate_limited' && pauseMs !== undefined) health.paused(name, pauseMs);
    else if (reason === 'upstream_refused' || reason === 'upstream_rate_limited') health.answered(name);
    else {
      health.failed(name);
      if (pauseMs !== undefined) health.paused(name, pauseMs);
    }
    metrics.upstreamRequested(name, outcomeOf(reason));
    logger.warn({ call: id, model: model.name, upstream: name, reason, status, code }, message);
    if (isFinal === true || reason === 'upstream_refused') throw error;
    return error;
  };

  return {
    close: () => upstreamSources.close(),

    async open(call, signal) {
      const startedAt = performance.now();
      const failures: TextFailure[] = [];
      let candidates = candidatesOf(call);
      const rounds = call.canWait === true ? 1 : 2;
      for (let round = 0; round < rounds && candidates.length > 0; round++) {
        if (round > 0) await wait(signal);
        const again: Candidate[] = [];
        for (const candidate of candidates) {
          const opened = await tryOne(candidate);
          if (!(opened instanceof TextFailure)) return opened;
          failures.push(opened);
          if (opened instanceof UpstreamFailure && opened.facts.isTransient === true) again.push(candidate);
        }
        candidates = again;
      }
      throw mostActionable(failures);

      async function tryOne(candidate: Candidate): Promise<OpenedAnswer | TextFailure> {
        if (!candidate.isOurs) await health.known(candidate.name);
        if (health.isDrained(candidate.name)) {
          return new UpstreamFailure('upstream_unavailable', 'an operator has drained the upstream');
        }
        if (candidate.isFailing && !candidate.isOurs && call.canWait === true) {
          return new UpstreamFailure('upstream_unavailable', 'the circuit breaker of the upstream is open');
        }
        const pausedMs = candidate.isOurs ? 0 : health.pausedMs(candidate.name);
        if (pausedMs > 0) {
          return new UpstreamFailure('upstream_rate_limited', 'the upstream is paused', {
            pauseMs: pausedMs,
          });
        }
        if (!candidate.isOurs) {
          await call.beforeSend?.();
          call.tally.unanswered += 1;
        }
        try {
          const opened = await candidate.source.open(call, signal, startedAt);
          call.tally.answeredBy = candidate.name;
          call.tally.openedAt = candidate.isOurs ? 'ours' : 'upstream';
          if (!candidate.isOurs) call.tally.unanswered -= 1;
          health.answered(candidate.name);
          metrics.upstreamRequested(candidate.name, 'answered');
          return opened;
        } catch (error) {
          return note(error, candidate, call);
        }
      }
    },
  };
}

/** @throws {TextFailure} the call was aborted. */
async function wait(signal: AbortSignal): Promise<void> {
  try {
    await sleep(AGAIN_AFTER_MS * (0.5 + Math.random()), undefined, { signal });
  } catch {
    throw signal.reason instanceof TextFailure
      ? signal.reason
      : new UpstreamFailure('interrupted', 'the call was cancelled', { isFinal: true });
  }
}

/** Whether an upstream has not begun to work on a request: it rejected it, or never got it. */
function wasRejected(error: unknown): boolean {
  if (error instanceof InvalidTextRequest) return true;
  if (!(error instanceof UpstreamFailure)) return false;
  const { reason, facts } = error;
  if (reason === 'interrupted' || reason === 'upstream_invalid' || facts.isConnectionLost === true) return false;
  return reason !== 'upstream_timeout' || facts.status !== undefined;
}

function outcomeOf(reason: TextFailureReason): UpstreamOutcome {
  if (reason === 'upstream_rate_limited') return 'paused';
  return reason === 'upstream_refused' ? 'answered' : 'failed';
}

/** A rate limit, if there is one, because the client can act on it; otherwise the last failure. */
function mostActionable(failures: readonly TextFailure[]): TextFailure {
  const rateLimited = failures
    .filter(({ reason }) => reason === 'upstream_rate_limited')
    .sort((a, b) => (a.retryAfterSeconds ?? Infinity) - (b.retryAfterSeconds ?? Infinity));
  return rateLimited[0] ?? failures.at(-1) ?? new UpstreamFailure('upstream_unavailable', 'the model has no upstream');
}
