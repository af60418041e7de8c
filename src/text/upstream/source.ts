/**
 * Answers calls with an OpenAI-compatible server: Ollama, vLLM, llama.cpp, OpenRouter, OpenAI. One upstream, one call;
 * which upstream is tried, and which next, is decided by the router (text-router.ts).
 */
import { textLimitsOf } from '../../catalogue/text-definition.ts';
import type { TextUpstream } from '../../catalogue/text-definition.ts';
import type { Logger } from '../../telemetry/log.ts';
import { createExchanges } from '../../upstreams/exchange.ts';
import type { SecretSource } from '../../upstreams/secrets.ts';
import { textUpstreamName } from '../../upstreams/upstream-caps.ts';
import type { OpenedAnswer, TextCall } from '../source.ts';
import { attempt } from './attempt.ts';
import { planOf } from './plan.ts';
import { UpstreamFailure } from './upstream-failure.ts';

const HEADERS = {
  'content-type': 'application/json',
  'user-agent': 'darkroom',
  'accept-encoding': 'identity',
};

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

/** Where the calls of an upstream go, and with which credential. */
interface UpstreamTarget {
  readonly origin: string;
  /** The path before the interface's own, e.g. `/v1`. */
  readonly basePath: string;
  /** The query of the base URL: some gateways require their version there. */
  readonly search: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Address = Omit<UpstreamTarget, 'headers'>;

/**
 * Where an upstream's calls go, or a message that states what the operator must configure. The base URL comes from the
 * operator's model file, the credential from configuration, under the name that the file has for it.
 */
function textTargetOf(upstream: TextUpstream, secrets: SecretSource): UpstreamTarget | string {
  const address = addressOf(upstream);
  if (address === undefined) return 'the model names no usable base URL for its upstream';
  const { secret } = upstream;
  if (secret === undefined) return { ...address, headers: HEADERS };
  const credential = secrets.get(secret);
  if (credential === undefined) {
    return `no credential is configured for this upstream: set UPSTREAM_${secret.toUpperCase()}_KEY`;
  }
  return { ...address, headers: { ...HEADERS, authorization: `Bearer ${credential}` } };
}

/** Parsed once for each upstream that is loaded; a credential may change at any time. */
const ADDRESSES = new WeakMap<TextUpstream, Address>();

/** @returns undefined: the base URL is missing, or is no URL of HTTP. */
function addressOf(upstream: TextUpstream): Address | undefined {
  const known = ADDRESSES.get(upstream);
  if (known !== undefined) return known;
  const { baseUrl } = upstream;
  if (baseUrl === undefined || !/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) return undefined;
  const { origin, pathname, search } = new URL(baseUrl);
  const address = { origin, basePath: pathname.replace(/\/+$/, ''), search };
  ADDRESSES.set(upstream, address);
  return address;
}
