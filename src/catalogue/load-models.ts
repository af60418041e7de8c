/**
 * Reads model files and reports, for a bad one, which file, which position in it and why. What is read is proven
 * here, so that no model lacks a price for an input it accepts.
 */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_ROUTE, modelDefinitionSchema, upstreamSchema } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { expandPools } from './expand-pools.ts';
import { withDefaults } from './input-defaults.ts';
import { ModelFileError, isProviderFile, readModelTexts, throwProblems } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';
import { NO_SETTINGS, createOffer } from './offer.ts';
import { findUpstreamProblem } from './protocol.ts';
import type { Protocol } from './protocol.ts';
import { findPricingProblem } from './price-proof.ts';
import { mergeProviders, providerFileCheck } from './provider-file.ts';
import type { ProviderFile } from './provider-file.ts';
import { worstCaseCost } from './price.ts';
import { compileCheck } from '../schema/schema-validation.ts';
import { TextModelDefinitionSchema, TextUpstreamSchema } from './text-definition.ts';
import type { CatalogueModel, TextModelDefinition } from './text-definition.ts';
import { findTextModelProblem } from './text-proof.ts';

export { ModelFileError } from './model-files.ts';

const checkTextDefinition = compileCheck(TextModelDefinitionSchema, 'invalid model file');

/**
 * The content of model files. A bad file keeps the definition that it had when it was last good, so that it blocks no
 * other; one that never was good has none.
 */
export interface ReadModels {
  readonly definitions: readonly CatalogueModel[];
  /** The providers that definitions can refer to. */
  readonly providers: readonly ProviderFile[];
  /** In the order of the files. */
  readonly problems: readonly ModelFileError[];
}

/** Parses the contents of model files. For content that it has parsed before, it returns the same definition object. */
export type ModelReader = (texts: ModelTexts) => ReadModels;

/**
 * Reads every model file of the directories, in the order of their names. Models of providers that need a setting are
 * left out.
 *
 * @throws {ModelFileError} @throws {ModelFilesError} all that are bad.
 */
export async function loadModels(
  directories: readonly string[],
  protocols: readonly Protocol[],
): Promise<readonly CatalogueModel[]> {
  const read = createModelReader(protocols)(await readModelTexts(directories));
  throwProblems(read.problems);
  return createOffer(NO_SETTINGS)(read);
}

/** @param protocols that model files can name. */
export function createModelReader(protocols: readonly Protocol[]): ModelReader {
  const check = mediaModelCheck(protocols);
  const readProviders = createProviderReader(protocols);
  let known = new Map<string, KnownModel>();
  /** The result of the last read, by file. */
  let accepted: ReadonlyMap<string, CatalogueModel> = new Map();
  return (texts) => {
    const before = known;
    known = new Map();
    const providers = readProviders(texts);
    const files = new Map<string, CatalogueModel>();
    const problems: ModelFileError[] = [...providers.problems];
    for (const [file, text] of texts) {
      if (isProviderFile(file)) continue;
      if (text instanceof ModelFileError) {
        problems.push(text);
        for (const [previous, model] of accepted) if (isIn(previous, file)) files.set(previous, model);
        continue;
      }
      const earlier = before.get(file);
      const isKnown = earlier?.text === text && earlier.providers === providers.byName;
      const model = isKnown ? earlier.model : readModel(file, text, providers.byName, check, earlier);
      known.set(file, { text, providers: providers.byName, model });
      const given = model instanceof ModelFileError ? accepted.get(file) : model;
      if (model instanceof ModelFileError) problems.push(model);
      if (given !== undefined) files.set(file, given);
    }
    const between = revertConflicts(files, accepted);
    accepted = files;
    return {
      definitions: [...files.values()],
      providers: [...providers.byName.values()],
      problems: [...problems, ...between],
    };
  };
}

/** What a file was read as. */
interface KnownModel {
  readonly text: string;
  readonly providers: ReadonlyMap<string, ProviderFile>;
  readonly model: CatalogueModel | ModelFileError;
}

interface ReadProviders {
  /** The same object as long as no provider has changed. */
  readonly byName: ReadonlyMap<string, ProviderFile>;
  readonly problems: readonly ModelFileError[];
}

/** Reads the provider files; a bad one keeps what it was when it was last good. */
function createProviderReader(protocols: readonly Protocol[]): (texts: ModelTexts) => ReadProviders {
  const check = providerFileCheck([TextUpstreamSchema, upstreamSchema(protocols)]);
  let accepted = new Map<string, { readonly text: string; readonly provider: ProviderFile }>();
  let byName: ReadonlyMap<string, ProviderFile> = new Map();
  return (texts) => {
    const problems: ModelFileError[] = [];
    const files: typeof accepted = new Map();
    const names = new Map<string, ProviderFile>();
    for (const [file, text] of texts) {
      if (!isProviderFile(file)) continue;
      const before = accepted.get(file);
      const read = before !== undefined && before.text === text ? before.provider : readProvider(file, text, check);
      const other = read instanceof ModelFileError ? undefined : names.get(read.name);
      const problem =
        other === undefined ? read : new ModelFileError(file, `name: another provider is called ${other.name}`);
      if (problem instanceof ModelFileError) problems.push(problem);
      const provider = problem instanceof ModelFileError ? before?.provider : problem;
      if (provider === undefined || names.has(provider.name)) continue;
      files.set(file, { text: typeof text === 'string' ? text : '', provider });
      names.set(provider.name, provider);
    }
    accepted = files;
    const isSame = names.size === byName.size && [...names].every(([name, provider]) => byName.get(name) === provider);
    if (!isSame) byName = names;
    return { byName, problems };
  };
}

function readProvider(
  file: string,
  text: string | ModelFileError,
  check: ReturnType<typeof providerFileCheck>,
): ProviderFile | ModelFileError {
  if (text instanceof ModelFileError) return text;
  try {
    const provider = check(file, parse(file, text));
    if (provider instanceof ModelFileError || provider.name === path.basename(path.dirname(file))) return provider;
    return new ModelFileError(file, `name: the provider in this directory is ${path.basename(path.dirname(file))}`);
  } catch (error) {
    if (error instanceof ModelFileError) return error;
    throw error;
  }
}

/** Whether a path is this one, or is in this directory. */
function isIn(file: string, fileOrDirectory: string): boolean {
  return file === fileOrDirectory || path.dirname(file) === fileOrDirectory;
}

/**
 * Reverts files that conflict with the others: such a file keeps its previous definition, or has none.
 *
 * @param files by path; changed here.
 */
function revertConflicts(
  files: Map<string, CatalogueModel>,
  accepted: ReadonlyMap<string, CatalogueModel>,
): readonly ModelFileError[] {
  const problems = new Map<string, ModelFileError>();
  for (;;) {
    // Those that existed before come first: a name belongs to them.
    const isAsBefore = (file: string): number => (files.get(file) === accepted.get(file) ? 0 : 1);
    const inOrder = new Map([...files].sort(([one], [other]) => isAsBefore(one) - isAsBefore(other)));
    let hasChanged = false;
    for (const problem of problemsBetween(inOrder)) {
      const { file } = problem;
      if (!problems.has(file)) problems.set(file, problem);
      const before = accepted.get(file);
      // What existed before stays, although what it refers to may be gone.
      if (before !== undefined && before === files.get(file)) continue;
      if (before === undefined) files.delete(file);
      else files.set(file, before);
      hasChanged = true;
    }
    if (!hasChanged) return [...problems.values()];
  }
}

/** What is wrong with files that are valid by themselves. @param files by path. */
function problemsBetween(files: ReadonlyMap<string, CatalogueModel>): readonly ModelFileError[] {
  const byName = new Map<string, string>();
  const problems: ModelFileError[] = [];
  for (const [file, { name }] of files) {
    const other = byName.get(name);
    if (other === undefined) byName.set(name, file);
    else problems.push(new ModelFileError(file, `name: ${other} has ${name} already`));
  }
  for (const [file, { name, replacement }] of files) {
    if (replacement === undefined || (replacement !== name && byName.has(replacement))) continue;
    problems.push(new ModelFileError(file, `replacement: there is no other model called ${replacement}`));
  }
  return problems;
}

function readModel(
  file: string,
  text: string,
  providers: ReadonlyMap<string, ProviderFile>,
  check: MediaModelCheck,
  earlier: KnownModel | undefined,
): CatalogueModel | ModelFileError {
  try {
    const merged = mergeProviders(file, parse(file, text), providers);
    // Another provider has changed: the definition is the same object, so that it is not compiled again.
    const known = earlier?.model;
    if (known !== undefined && !(known instanceof ModelFileError) && isDeepStrictEqual(known, merged)) return known;
    return validateModel(file, merged, check);
  } catch (error) {
    if (error instanceof ModelFileError) return error;
    throw error;
  }
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const problem = error instanceof Error ? error.message : 'not JSON';
    throw new ModelFileError(file, `${positionIn(text, problem)}${problem}`, { cause: error });
  }
}

/** Newer versions of Node report the line themselves. */
function positionIn(text: string, problem: string): string {
  const position = / at position (\d+)$/.exec(problem)?.[1];
  if (position === undefined) return '';
  const lines = text.slice(0, Number(position)).split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: `;
}

function validateModel(file: string, parsed: unknown, check: MediaModelCheck): CatalogueModel {
  const isText = typeof parsed === 'object' && parsed !== null && 'modality' in parsed && parsed.modality === 'text';
  const model = isText ? validateTextModel(file, parsed) : validateMediaModel(file, parsed, check);
  const { deprecatedAt, retiresAt } = model;
  if (deprecatedAt !== undefined && retiresAt !== undefined && retiresAt < deprecatedAt) {
    throw new ModelFileError(file, `retiresAt: ${retiresAt} is before deprecatedAt, ${deprecatedAt}`);
  }
  return model;
}

function validateTextModel(file: string, parsed: unknown): TextModelDefinition {
  const problem = checkTextDefinition(parsed) ?? findTextModelProblem(parsed as TextModelDefinition);
  if (problem !== undefined) throw new ModelFileError(file, problem);
  return parsed as TextModelDefinition;
}

/** What is wrong with the form of a model file, and with its upstreams. */
interface MediaModelCheck {
  form(parsed: unknown): string | undefined;
  upstreams(definition: ModelDefinition): string | undefined;
}

function mediaModelCheck(protocols: readonly Protocol[]): MediaModelCheck {
  return {
    form: compileCheck(modelDefinitionSchema(protocols), 'invalid model file'),
    upstreams: (definition) => findUpstreamProblem(definition, protocols),
  };
}

function validateMediaModel(file: string, parsed: unknown, check: MediaModelCheck): ModelDefinition {
  const problem = check.form(parsed);
  if (problem !== undefined) throw new ModelFileError(file, problem);
  const definition = expandPools(parsed as ModelDefinition);
  if (typeof definition === 'string') throw new ModelFileError(file, definition);
  if (definition.routes[DEFAULT_ROUTE] === undefined) {
    throw new ModelFileError(file, `routes: there is no ${DEFAULT_ROUTE} route`);
  }
  const unreachable = check.upstreams(definition);
  if (unreachable !== undefined) throw new ModelFileError(file, unreachable);
  checkSchema(file, definition);
  return definition;
}

/**
 * An example that its own schema rejects would mislead everyone who copies it; a price must fit whatever the schema
 * accepts.
 */
function checkSchema(file: string, definition: ModelDefinition): void {
  let checkInput;
  try {
    checkInput = compileCheck(definition.inputSchema, 'invalid input');
  } catch (error) {
    throw new ModelFileError(file, `inputSchema: ${error instanceof Error ? error.message : 'not a schema'}`, {
      cause: error,
    });
  }
  // Spec §2.5.1: a field that is not in the schema is rejected.
  if (definition.inputSchema['type'] !== 'object' || definition.inputSchema['additionalProperties'] !== false) {
    throw new ModelFileError(file, 'inputSchema: it must have "type": "object" and "additionalProperties": false');
  }
  const priced = findPricingProblem(definition);
  if (priced !== undefined) throw new ModelFileError(file, priced);
  definition.examples.forEach((example, index) => {
    const problem = checkInput(example);
    if (problem !== undefined) throw new ModelFileError(file, `examples.${index}: ${problem}`);
    const filled = checkInput(withDefaults(definition.inputSchema, example));
    if (filled !== undefined) throw new ModelFileError(file, `inputSchema: a default is not allowed: ${filled}`);
    worstCaseCost(definition.pricing, example);
  });
}
