/**
 * What an upstream is called, and how many jobs it may have under way at once: as the model files say, which is the same
 * for the worker that goes there and for the operator who looks.
 */
import { EMBEDDED_PROTOCOL } from '../catalogue/definition.ts';
import type { ModelDefinition } from '../catalogue/definition.ts';

type Upstream = ModelDefinition['routes'][string]['upstreams'][number];

/**
 * What records, logs and limits call an upstream: its id, else its protocol and, where it has one, its host. Of our own
 * engines always the protocol: nobody bills their work (src/billing/operator-costs.ts).
 */
export function upstreamName({ id, protocol, baseUrl }: Pick<Upstream, 'id' | 'protocol' | 'baseUrl'>): string {
  if (protocol === EMBEDDED_PROTOCOL) return protocol;
  const host = baseUrl === undefined || !URL.canParse(baseUrl) ? '' : `:${new URL(baseUrl).host}`;
  return id ?? `${protocol}${host}`;
}

/** By protocol. Cog: "By default, the server runs one prediction at a time." */
const USUAL_CONCURRENCY: ReadonlyMap<string, number> = new Map([['cog', 1]]);

/** How many jobs may be under way there at once, over all workers, as one model has it; undefined: any number. */
export function concurrencyOf({
  protocol,
  concurrency,
}: Pick<Upstream, 'protocol' | 'concurrency'>): number | undefined {
  return concurrency ?? USUAL_CONCURRENCY.get(protocol);
}

/**
 * The caps of all upstreams of tasks that these models name, by the names of the upstreams, the smallest first. An
 * upstream that no model caps has an empty list. Models may cap the same one differently: the smallest holds for all
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
