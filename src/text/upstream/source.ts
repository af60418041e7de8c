/**
 * Answers calls with an OpenAI-compatible server: Ollama, vLLM, llama.cpp, OpenRouter, OpenAI. One upstream, one call;
 * which upstream is tried, and which next, is decided by the router (text-router.ts).
 */
import { textLimitsOf } from '../../catalogue/text-definition.ts';
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { SecretSource } from '../../upstreams/secrets.ts';
import type { OpenedAnswer, TextCall } from '../source.ts';
import { attempt } from './attempt.ts';
import { createExchanges } from '../../upstreams/exchange.ts';
import { planOf } from './plan.ts';
import { textUpstreamName } from '../../upstreams/upstream-caps.ts';
import { textTargetOf } from './target.ts';
import { UpstreamFailure } from './upstream-failure.ts';

/** A `TextSource` that can be given the start time of its call: others may have been tried before. */
export interface UpstreamTextSource {
  /**
   * As `TextSource.open`.
   *
   * @param startedAt by `performance.now()`; default: now.
   * @throws {UpstreamFailure} @throws {InvalidTextRequest} nothing was emitted.
   */
  open(call: TextCall, signal: AbortSignal, startedAt?: number): Promise<OpenedAnswer>;
}

/** Sources for upstreams of protocol `openai`. */
export interface UpstreamTextSources {
  of(upstream: TextUpstream): UpstreamTextSource;
  /** Ends their connections, and with them all calls in progress. */
  close(): Promise<void>;
}

/** @param now milliseconds since 1970, by the clock of the calls' `createdAt`. */
export function createUpstreamTextSources({
  secrets,
  logger,
  now,
}: {
  readonly secrets: SecretSource;
  readonly logger: Logger;
  readonly now: () => number;
}): UpstreamTextSources {
  const exchanges = createExchanges();
  const complaints = new Set<string>();

  /** Once for each: a model with many requests would fill the log. */
  const complain = (upstream: TextUpstream, problem: string): void => {
    const name = textUpstreamName(upstream);
    if (complaints.has(`${name} ${problem}`)) return;
    complaints.add(`${name} ${problem}`);
    logger.error({ upstream: name }, problem);
  };

  const of = (upstream: TextUpstream): UpstreamTextSource => ({
    async open(call, signal, startedAt = performance.now()) {
      const target = textTargetOf(upstream, secrets);
      if (typeof target === 'string') {
        complain(upstream, target);
        throw new UpstreamFailure('upstream_unavailable', target);
      }
      const send = async (onFreshConnection: boolean): Promise<OpenedAnswer> => {
        await call.nextTurn?.();
        const plan = planOf(call, upstream, now);
        const accept = plan.kind === 'stream' ? 'text/event-stream' : 'application/json';
        const request = {
          origin: target.origin,
          path: `${target.basePath}${plan.path}${target.search}`,
          method: 'POST' as const,
          headers: { ...target.headers, accept },
          body: JSON.stringify(plan.body),
          onFreshConnection,
        };
        // It is converted to bytes when it is sent.
        await call.nextTurn?.();
        return attempt({
          exchange: exchanges.start,
          request,
          call,
          plan,
          limits: textLimitsOf(call.model),
          startedAt,
          signal,
        });
      };
      try {
        return await send(false);
      } catch (error) {
        const wasLost = error instanceof UpstreamFailure && error.facts.isConnectionLost === true;
        if (!wasLost || signal.aborted) throw error;
        // An upstream may have got the first one as well.
        call.tally.unanswered += 1;
        return send(true);
      }
    },
  });

  return { of, close: () => exchanges.close() };
}
