/**
 * The models that this process accepts work for: looked up by name and route, with their input checks compiled. Loaded
 * from files by `load-models.ts`; running tasks use `pinned-definitions.ts` instead.
 */
import { DEFAULT_ROUTE, definitionHash } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { compileCheck } from './schema-validation.ts';
import type { Check } from './schema-validation.ts';

/** A model and a route of it, as a request named them. */
export interface ResolvedModel {
  readonly definition: ModelDefinition;
  readonly hash: string;
  /** `base`, or `base@route` for any other route than the default one (contract §3). */
  readonly fullName: string;
  /** The route that will be used. */
  readonly route: string;
  /** Whether the answer tells the route: only models that have several do. */
  readonly hasRoutes: boolean;
  readonly checkInput: Check;
}

/** Unknown, retired or unavailable (spec §2.1). */
export class ModelUnavailableError extends Error {
  override readonly name = 'ModelUnavailableError';

  constructor(model: string) {
    super(
      `the model ${JSON.stringify(model.slice(0, 200))} does not exist or is not available; names are case-sensitive`,
    );
  }
}

/** The model has no such route (spec §2.1: the answer lists those it has). */
export class UnknownRouteError extends Error {
  override readonly name = 'UnknownRouteError';

  constructor(route: string, available: readonly string[]) {
    super(
      `invalid request: route: got ${JSON.stringify(route.slice(0, 64))}, want one of ${available.map((name) => JSON.stringify(name)).join(', ')}`,
    );
  }
}

/** `model@a` together with `route: b`. */
export class ContradictoryRouteError extends Error {
  override readonly name = 'ContradictoryRouteError';

  constructor(suffix: string, route: string) {
    super(
      `invalid request: route: the model name says ${JSON.stringify(suffix.slice(0, 64))} and route says ${JSON.stringify(route.slice(0, 64))}; give one`,
    );
  }
}

export interface Catalogue {
  readonly models: readonly ModelDefinition[];
  /**
   * @param name as the request gave it: `base` or the older `base@route`.
   * @param route as the request gave it; absent, `""` and `"default"` mean the default route.
   * @throws {ModelUnavailableError} @throws {UnknownRouteError} @throws {ContradictoryRouteError}
   */
  resolve(name: string, route: string | undefined): ResolvedModel;
}

interface Entry {
  readonly definition: ModelDefinition;
  readonly hash: string;
  readonly checkInput: Check;
}

/** @throws {Error} an input schema does not compile, or two models have one name. */
export function createCatalogue(definitions: readonly ModelDefinition[]): Catalogue {
  const entries = new Map<string, Entry>();
  for (const definition of definitions) {
    if (entries.has(definition.name)) throw new Error(`two models are called ${definition.name}`);
    entries.set(definition.name, {
      definition,
      hash: definitionHash(definition),
      checkInput: compileCheck(definition.inputSchema, 'invalid input'),
    });
  }

  return {
    models: [...entries.values()].map((entry) => entry.definition),
    resolve(name, route) {
      const { base, suffix } = splitName(name, entries);
      const entry = entries.get(base);
      if (entry === undefined) throw new ModelUnavailableError(name);
      const named = route === undefined || route === '' ? undefined : route;
      if (suffix !== undefined && named !== undefined && suffix !== named) {
        throw new ContradictoryRouteError(suffix, named);
      }
      const wanted = suffix ?? named ?? DEFAULT_ROUTE;
      const available = Object.keys(entry.definition.routes);
      if (!available.includes(wanted)) throw new UnknownRouteError(wanted, available);
      return {
        ...entry,
        fullName: wanted === DEFAULT_ROUTE ? base : `${base}@${wanted}`,
        route: wanted,
        hasRoutes: available.length > 1,
      };
    },
  };
}

/** The older spelling is `<model>@<route>` (contract §2). */
function splitName(name: string, entries: ReadonlyMap<string, Entry>): { base: string; suffix: string | undefined } {
  const at = name.lastIndexOf('@');
  if (entries.has(name) || at <= 0) return { base: name, suffix: undefined };
  return { base: name.slice(0, at), suffix: name.slice(at + 1) };
}
