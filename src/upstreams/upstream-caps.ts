/**
 * The name of an upstream, and how many jobs it may run at once, as the model files specify: the same for the worker
 * that goes there and for the operator.
 */
import type { ModelDefinition } from '../catalogue/definition.ts';
import { EMBEDDED_PROTOCOL } from '../domain/embedded-protocol.ts';

type Upstream = ModelDefinition['routes'][string]['upstreams'][number];

/**
 * The name of an upstream in records, logs and limits: its id, else its protocol and, if it has one, its host. For the
 * embedded engines it is always the protocol: no provider bills their work (src/billing/operator-costs.ts).
 */
export function upstreamName({ id, protocol, baseUrl }: Pick<Upstream, 'id' | 'protocol' | 'baseUrl'>): string {
  if (protocol === EMBEDDED_PROTOCOL) return protocol;
  const host = baseUrl === undefined || !URL.canParse(baseUrl) ? '' : `:${new URL(baseUrl).host}`;
  return id ?? `${protocol}${host}`;
}

/** The default concurrency limit, by protocol. Cog: "By default, the server runs one prediction at a time." */
const USUAL_CONCURRENCY: ReadonlyMap<string, number> = new Map([['cog', 1]]);

/** How many jobs may run there at once, across all workers, according to one model; undefined: any number. */
export function concurrencyOf({
  protocol,
  concurrency,
}: Pick<Upstream, 'protocol' | 'concurrency'>): number | undefined {
  return concurrency ?? USUAL_CONCURRENCY.get(protocol);
}

/**
 * The caps of all upstreams of tasks that these models name, by the names of the upstreams, the smallest first. An
 * upstream that no model caps has an empty list. Models may cap the same one differently: the smallest applies to all
 * (published-caps.ts).
 */
export function capsOf(models: readonly ModelDefinition[]): ReadonlyMap<string, readonly number[]> {
  const caps = new Map<string, Set<number>>();
  const upstreams = models.flatMap(({ routes }) => Object.values(routes).flatMap((route) => route.upstreams));
  for (const upstream of upstreams) {
    if (upstream.protocol === EMBEDDED_PROTOCOL) continue;
    const name = upstreamName(upstream);
    const known = caps.get(name) ?? new Set();
    const cap = concurrencyOf(upstream);
    if (cap !== undefined) known.add(cap);
    caps.set(name, known);
  }
  return new Map([...caps].map(([name, known]) => [name, [...known].toSorted((a, b) => a - b)]));
}
