/**
 * The models that this process accepts work for: those of tasks are looked up by name and route, with their input
 * checks compiled, those of text calls by name. Loaded from files by `load-models.ts`; running tasks use
 * `pinned-definitions.ts` instead.
 */
import type { WaitReason } from '@darkroom/api/openai/batches';
import { DEFAULT_ROUTE, definitionHash, fullNameOf } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import type { ModelFileError } from './model-files.ts';
import type { OfferedProvider } from './offer.ts';
import { pricedFields } from './price.ts';
import { compileCheck, compileViolation, compileViolations } from '../schema/schema-validation.ts';
import type { Check, FindViolation, FindViolations } from '../schema/schema-validation.ts';
import { isTextModel } from './text-definition.ts';
import type { CatalogueModel, TextModelDefinition } from './text-definition.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';

/** A model and a route of it, as a request named them. */
export interface ResolvedModel {
  readonly definition: ModelDefinition;
  readonly hash: string;
  /** `base`, or `base@route` for any other route than the default one (contract §3). */
  readonly fullName: string;
  /** The route that will be used. */
  readonly route: string;
  /** Whether the response includes the route: only those of models that have several do. */
  readonly hasRoutes: boolean;
  readonly checkInput: FindViolation;
  /** Returns everything that is wrong with an input. */
  readonly checkInputAll: FindViolations;
  /** Whether an input has a price: the fields that it depends on are valid, whatever the others are. */
  hasPrice(input: unknown): boolean;
}

/** Unknown, retired or unavailable (spec §2.1). */
export class ModelUnavailableError extends DarkroomError {
  override readonly name: string = 'ModelUnavailableError';
  override readonly kind = 'model_unavailable';
  override readonly param = 'model';

  /** @param retired the model existed once: what to use instead, if there is such a model. */
  constructor(model: string, retired?: { readonly replacement: string | undefined }) {
    const name = JSON.stringify(model.slice(0, 200));
    const advice = retired?.replacement === undefined ? '' : `; use ${JSON.stringify(retired.replacement)}`;
    super(
      retired === undefined
        ? `the model ${name} does not exist or is not available; names are case-sensitive`
        : `the model ${name} was retired and is no longer available${advice}`,
    );
  }
}

/** The model, or a route of it, is not offered while its provider rejects our credential. */
export class ModelWithheldError extends ModelUnavailableError {
  override readonly name = 'ModelWithheldError';

  override get waitsFor(): WaitReason {
    return 'model';
  }
}

/** The model exists and makes something else: an image is no answer to a chat, and no text comes from a task. */
export class OtherModalityError extends DarkroomError {
  override readonly name = 'OtherModalityError';
  override readonly kind = 'model_unavailable';
  override readonly param = 'model';

  constructor({ name, modality }: CatalogueModel) {
    const endpoint = modality === 'text' ? 'POST /v1/chat/completions or POST /v1/responses' : 'POST /v1/tasks';
    super(`the model ${JSON.stringify(name)} is not available here; use it with ${endpoint}`);
  }
}

/** The model has no such route (spec §2.1: the response lists those it has). */
export class UnknownRouteError extends DarkroomError {
  override readonly name = 'UnknownRouteError';
  override readonly kind = 'invalid_request';
  override readonly param = 'route';
  override readonly keyword = 'enum';

  constructor(route: string, available: readonly string[]) {
    super(
      `invalid request: route: got ${JSON.stringify(route.slice(0, 64))}, want one of ${available.map((name) => JSON.stringify(name)).join(', ')}`,
    );
  }
}

/** `model@a` together with `route: b`. */
export class ContradictoryRouteError extends DarkroomError {
  override readonly name = 'ContradictoryRouteError';
  override readonly kind = 'invalid_request';
  override readonly param = 'route';
  override readonly keyword = 'enum';

  constructor(suffix: string, route: string) {
    super(
      `invalid request: route: the model name says ${JSON.stringify(suffix.slice(0, 64))} and route says ${JSON.stringify(route.slice(0, 64))}; give one`,
    );
  }
}

/** What a process has loaded, and what it could not. */
export interface CatalogueState {
  /** Milliseconds since 1970: when this content was loaded. */
  readonly since: number;
  /** What is wrong with the model files as they are now; for a bad one, its previous definition stays in use. */
  readonly rejected: { readonly since: number; readonly problems: readonly ModelFileError[] } | undefined;
}

export interface Catalogue {
  /** All of them, the retired ones too. */
  readonly models: readonly CatalogueModel[];
  /** The models that accept requests now. */
  available(): readonly CatalogueModel[];
  /** A model by its name, whatever route the name carries and whether or not it is retired. */
  find(name: string): CatalogueModel | undefined;
  /**
   * @param name as the request gave it: `base` or the older `base@route`.
   * @param route as the request gave it; absent, `""` and `"default"` mean the default route.
   * @throws {ModelUnavailableError} @throws {OtherModalityError} @throws {UnknownRouteError}
   * @throws {ContradictoryRouteError}
   */
  resolve(name: string, route: string | undefined): ResolvedModel;
  /**
   * A model for a text call (spec §4.4.1: by its bare name).
   *
   * @throws {ModelUnavailableError} @throws {OtherModalityError}
   */
  resolveText(name: string): TextModelDefinition;
  state(): CatalogueState;
  /** In the order of their names. */
  providers(): readonly OfferedProvider[];
  /** Resolves once the models are offered by the settings of providers as they are now, or that has failed. */
  settingsAdopted(): Promise<void>;
}

type Entry = Pick<ResolvedModel, 'definition' | 'hash' | 'checkInput' | 'checkInputAll' | 'hasPrice'>;

/** Compiled definitions, because compiling takes time and most definitions stay the same when the catalogue changes. */
const ENTRIES = new WeakMap<ModelDefinition, Entry>();

/**
 * @param now milliseconds since 1970: models retire by it.
 * @throws {Error} two models have one name.
 */
export function createCatalogue(definitions: readonly CatalogueModel[], now: () => number = Date.now): Catalogue {
  const entries = new Map<string, Entry>();
  const texts = new Map<string, TextModelDefinition>();
  for (const definition of definitions) {
    const { name } = definition;
    if (entries.has(name) || texts.has(name)) throw new Error(`two models are called ${name}`);
    if (isTextModel(definition)) {
      texts.set(name, definition);
      continue;
    }
    let entry = ENTRIES.get(definition);
    if (entry === undefined) ENTRIES.set(definition, (entry = entryOf(definition)));
    entries.set(definition.name, entry);
  }
  const since = now();
  const isRetired = ({ retiresAt }: CatalogueModel): boolean => retiresAt !== undefined && retiresAt * 1000 <= now();

  return {
    models: definitions,
    state: () => ({ since, rejected: undefined }),
    providers: () => [],
    settingsAdopted: () => Promise.resolve(),
    available: () => definitions.filter((definition) => !isRetired(definition)),
    find: (name) => texts.get(name) ?? entries.get(splitName(name, entries).base)?.definition,
    resolve(name, route) {
      const { base, suffix } = splitName(name, entries);
      const entry = entries.get(base);
      const text = texts.get(name);
      if (text !== undefined) throw new OtherModalityError(text);
      if (entry === undefined) throw new ModelUnavailableError(name);
      const { replacement } = entry.definition;
      if (isRetired(entry.definition)) throw new ModelUnavailableError(name, { replacement });
      const named = route === undefined || route === '' ? undefined : route;
      if (suffix !== undefined && named !== undefined && suffix !== named) {
        throw new ContradictoryRouteError(suffix, named);
      }
      const wanted = suffix ?? named ?? DEFAULT_ROUTE;
      const available = Object.keys(entry.definition.routes);
      if (!available.includes(wanted)) throw new UnknownRouteError(wanted, available);
      return {
        ...entry,
        fullName: fullNameOf(base, wanted),
        route: wanted,
        hasRoutes: available.length > 1,
      };
    },
    resolveText(name) {
      const definition = texts.get(name);
      const media = entries.get(name)?.definition;
      if (media !== undefined && !isRetired(media)) throw new OtherModalityError(media);
      if (definition === undefined) throw new ModelUnavailableError(name);
      if (isRetired(definition)) throw new ModelUnavailableError(name, { replacement: definition.replacement });
      return definition;
    },
  };
}

function entryOf(definition: ModelDefinition): Entry {
  const { inputSchema, pricing } = definition;
  // Compiling takes a moment, most models have no request for a long time, and only estimates need the last two.
  let check: FindViolation | undefined;
  let checkAll: FindViolations | undefined;
  let checkPriced: Check | undefined;
  return {
    definition,
    hash: definitionHash(definition),
    checkInput: (input) => (check ??= compileViolation(inputSchema, 'invalid input'))(input),
    checkInputAll: (input) => (checkAll ??= compileViolations(inputSchema, 'invalid input'))(input),
    hasPrice: (input) =>
      (checkPriced ??= compileCheck(schemaOf(pricedFields(pricing), inputSchema), 'invalid input'))(input) ===
      undefined,
  };
}

/** What a schema requires of some fields; it requires nothing of the others. */
function schemaOf(fields: ReadonlySet<string>, { properties, required }: ModelDefinition['inputSchema']): object {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties ?? {}).filter(([name]) => fields.has(name))),
    required: (Array.isArray(required) ? required : []).filter((name) => fields.has(String(name))),
  };
}

/** The older form is `<model>@<route>` (contract §2). */
function splitName(name: string, entries: ReadonlyMap<string, Entry>): { base: string; suffix: string | undefined } {
  const at = name.lastIndexOf('@');
  if (entries.has(name) || at <= 0) return { base: name, suffix: undefined };
  return { base: name.slice(0, at), suffix: name.slice(at + 1) };
}
