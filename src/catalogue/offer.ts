/**
 * Which models can be offered: an upstream whose provider needs a credential or a URL that is not configured, or
 * rejects the credential, is left out, and with it a route, or a model, that has no other. Models become available when these are configured, and a
 * route that is missing is never replaced by another.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ModelDefinition } from './definition.ts';
import type { ProviderFile } from './provider-file.ts';
import { isTextModel } from './text-definition.ts';
import type { CatalogueModel } from './text-definition.ts';

/** What is configured for providers. */
export interface ProviderSettings {
  /** Whether there is a credential of that name. */
  hasCredential(name: string): boolean;
  /** The URL that replaces that of the provider's file. */
  baseUrlOf(provider: string): string | undefined;
  /** Whether a provider rejects the credential of that name. Default: none does. */
  isRejected?(provider: string, credential: string): boolean;
}

/** What a provider lacks. `valid_credential`: it rejects the credential that it has. */
export type Missing = 'credential' | 'valid_credential' | 'base_url';

/** A provider, and the models that it can serve. */
export interface OfferedProvider {
  readonly provider: ProviderFile;
  /** What has to be configured before its models are offered; undefined: nothing. */
  readonly missing: Missing | undefined;
  /** All models with an upstream of it, as the files have them. */
  readonly models: readonly CatalogueModel[];
}

/** What all upstreams of providers have, whatever their models make. */
interface ProvidedUpstream {
  readonly provider?: string;
  readonly secret?: string;
  readonly baseUrl?: string;
  /** Which of several servers it is: it has a URL of its own. */
  readonly server?: string;
}

type FindProvider = (name: string) => ProviderFile | undefined;

/** The settings of an installation that has none. */
export const NO_SETTINGS: ProviderSettings = { hasCredential: () => false, baseUrlOf: () => undefined };

/** What can be offered of the models that were read. */
export type Offer = (known: {
  readonly definitions: readonly CatalogueModel[];
  readonly providers: readonly ProviderFile[];
}) => readonly CatalogueModel[];

/** For the same models and settings, it returns the same objects: what depends on them is compiled once. */
export function createOffer(settings: ProviderSettings): Offer {
  const earlier = new WeakMap<CatalogueModel, CatalogueModel>();
  return ({ definitions, providers }) => {
    const byName = new Map(providers.map((provider) => [provider.name, provider]));
    return definitions.flatMap((definition) => {
      const model = offerModel(definition, (name) => byName.get(name), settings);
      if (model === undefined) return [];
      const before = earlier.get(definition);
      if (before !== undefined && isDeepStrictEqual(before, model)) return [before];
      earlier.set(definition, model);
      return [model];
    });
  };
}

/** The name of a provider's credential. */
export function credentialNameOf({ name, upstream }: ProviderFile): string {
  return typeof upstream['secret'] === 'string' ? upstream['secret'] : name;
}

/** @returns what is missing for a provider's upstreams; undefined: they can be used. */
export function findMissing(provider: ProviderFile, settings: ProviderSettings): Missing | undefined {
  if (provider.isSelfHosted === true && settings.baseUrlOf(provider.name) === undefined) return 'base_url';
  const credential = credentialNameOf(provider);
  if (settings.isRejected?.(provider.name, credential) === true) return 'valid_credential';
  const isRequired = (provider.credential ?? 'required') === 'required';
  return isRequired && !settings.hasCredential(credential) ? 'credential' : undefined;
}

/**
 * A model as it can be offered now: with the upstreams that can be used, at their configured URLs.
 *
 * @returns the same object if nothing is left out or replaced; undefined if the model has no usable upstream.
 */
function offerModel(
  definition: CatalogueModel,
  findProvider: FindProvider,
  settings: ProviderSettings,
): CatalogueModel | undefined {
  const narrow = <Upstream extends ProvidedUpstream>(upstreams: readonly Upstream[]): Upstream[] =>
    upstreams.flatMap((upstream) => offerUpstream(upstream, findProvider, settings) ?? []);
  if (isTextModel(definition)) {
    const upstreams = narrow(definition.upstreams);
    return isSame(upstreams, definition.upstreams)
      ? definition
      : upstreams.length === 0
        ? undefined
        : { ...definition, upstreams };
  }
  const routes = narrowRoutes(definition, narrow);
  if (routes === definition.routes) return definition;
  return Object.keys(routes).length === 0 ? undefined : { ...definition, routes };
}

function narrowRoutes(
  { routes }: ModelDefinition,
  narrow: (upstreams: ModelDefinition['routes'][string]['upstreams']) => ModelDefinition['routes'][string]['upstreams'],
): ModelDefinition['routes'] {
  let isChanged = false;
  const narrowed = Object.entries(routes).flatMap(([name, route]) => {
    const upstreams = narrow(route.upstreams);
    if (isSame(upstreams, route.upstreams)) return [[name, route] as const];
    isChanged = true;
    return upstreams.length === 0 ? [] : [[name, { ...route, upstreams }] as const];
  });
  return isChanged ? Object.fromEntries(narrowed) : routes;
}

function offerUpstream<Upstream extends ProvidedUpstream>(
  upstream: Upstream,
  findProvider: FindProvider,
  settings: ProviderSettings,
): Upstream | undefined {
  const provider = upstream.provider === undefined ? undefined : findProvider(upstream.provider);
  if (provider === undefined) return upstream;
  const { secret } = upstream;
  const hasCredential = secret === undefined || settings.hasCredential(secret);
  if (!hasCredential && (provider.credential ?? 'required') === 'required') return undefined;
  if (secret !== undefined && settings.isRejected?.(provider.name, secret) === true) return undefined;
  const baseUrl = upstream.server === undefined ? settings.baseUrlOf(provider.name) : undefined;
  if (provider.isSelfHosted === true && baseUrl === undefined && upstream.server === undefined) return undefined;
  if (hasCredential && (baseUrl === undefined || baseUrl === upstream.baseUrl)) return upstream;
  const { secret: _, ...rest } = upstream;
  // The same members, except that an optional one may be missing.
  return { ...(hasCredential ? upstream : rest), ...(baseUrl === undefined ? {} : { baseUrl }) } as Upstream;
}

function isSame<Item>(one: readonly Item[], other: readonly Item[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index]);
}

/** The providers of a model's upstreams. */
export function providerNamesOf(definition: CatalogueModel): ReadonlySet<string> {
  return new Set(upstreamsOf(definition).flatMap(({ provider }) => provider ?? []));
}

/** The names of the credentials that a provider's upstreams need: that of the provider, and those of its pools. */
export function credentialNamesOf({
  provider,
  models,
}: Pick<OfferedProvider, 'provider' | 'models'>): readonly string[] {
  const upstreams = models.flatMap(upstreamsOf).filter((upstream) => upstream.provider === provider.name);
  return [...new Set([credentialNameOf(provider), ...upstreams.flatMap(({ secret }) => secret ?? [])])];
}

function upstreamsOf(definition: CatalogueModel): readonly ProvidedUpstream[] {
  return isTextModel(definition)
    ? definition.upstreams
    : Object.values(definition.routes).flatMap((route) => route.upstreams);
}
