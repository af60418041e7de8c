/**
 * The names of upstreams, and how many jobs they may run at once, as the model files specify: the same for the process
 * that goes there and for the operator.
 */
import type { ModelDefinition } from '../catalogue/definition.ts';
import { isTextModel } from '../catalogue/text-definition.ts';
import type { CatalogueModel, TextUpstream } from '../catalogue/text-definition.ts';
import { EMBEDDED_PROTOCOL, EMBEDDED_TEXT_UPSTREAM } from '../domain/upstream-names.ts';

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

/**
 * The name of an upstream of a text model. It differs from the names for media models, though both may be at one
 * host: a pause requested for text has its own limits there, and for each model.
 */
export function textUpstreamName(upstream: TextUpstream): string {
  const known = TEXT_NAMES.get(upstream);
  if (known !== undefined) return known;
  const { id, baseUrl, protocol, model } = upstream;
  if (protocol === EMBEDDED_PROTOCOL) return EMBEDDED_TEXT_UPSTREAM;
  // Enough to identify it, without path or user info.
  const host = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : protocol;
  const name = `text:${id ?? `${host}/${model}`}`;
  TEXT_NAMES.set(upstream, name);
  return name;
}

/** Several for each call: built once for each upstream that is loaded. */
const TEXT_NAMES = new WeakMap<TextUpstream, string>();

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
 * The caps of all upstreams that these models name, by the names of the upstreams, the smallest first. An upstream that
 * no model caps, as none of text is, has an empty list. Models may cap the same one differently: the smallest applies
 * to all (published-caps.ts).
 */
export function capsOf(models: readonly CatalogueModel[]): ReadonlyMap<string, readonly number[]> {
  const caps = new Map<string, Set<number>>();
  const add = (name: string, cap: number | undefined): void => {
    const known = caps.get(name) ?? new Set();
    if (cap !== undefined) known.add(cap);
    caps.set(name, known);
  };
  for (const model of models) {
    const upstreams = isTextModel(model) ? [] : Object.values(model.routes).flatMap((route) => route.upstreams);
    for (const upstream of upstreams) {
      if (upstream.protocol !== EMBEDDED_PROTOCOL) add(upstreamName(upstream), concurrencyOf(upstream));
    }
    for (const upstream of isTextModel(model) ? model.upstreams : []) {
      if (upstream.protocol !== EMBEDDED_PROTOCOL) add(textUpstreamName(upstream), undefined);
    }
  }
  return new Map([...caps].map(([name, known]) => [name, [...known].toSorted((a, b) => a - b)]));
}
