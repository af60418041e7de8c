/**
 * Reads model files and reports, for a bad one, which file, which position in it and why. What is read is proven
 * here, so that no model lacks a price for an input it accepts.
 */
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { findDialectProblems } from './dialect-proof.ts';
import { DEFAULT_ROUTE, modelDefinitionSchema, upstreamSchema } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { expandPools } from './expand-pools.ts';
import { withDefaults } from './input-defaults.ts';
import { ModelFileError, isProviderFile, readModelTexts, throwProblems } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';
import { NO_SETTINGS, createOffer } from './offer.ts';
import { findUpstreamProblems } from './protocol.ts';
import type { Protocol } from './protocol.ts';
import { findCostProblem, findPricingProblem } from './price-proof.ts';
import { findTranscriptionProblem } from './transcription-proof.ts';
import { mergeProviders, providerFileCheck } from './provider-file.ts';
import type { ProviderFile } from './provider-file.ts';
import { worstCaseCost } from './price.ts';
import { compileCheck, compileViolations } from '../schema/schema-validation.ts';
import type { Check, FindViolations } from '../schema/schema-validation.ts';
import { TextModelDefinitionSchema, TextUpstreamSchema, isTextModel } from './text-definition.ts';
import type { CatalogueModel } from './text-definition.ts';
import { findTextModelProblem } from './text-proof.ts';

export { ModelFileError } from './model-files.ts';

const checkTextDefinition = compileViolations(TextModelDefinitionSchema, 'invalid model file');

/**
 * The content of model files. A bad file keeps the definition that it had when it was last good, so that it blocks no
 * other; one that never was good has none.
 */
export interface ReadModels {
  readonly definitions: readonly CatalogueModel[];
  /** The providers that definitions can refer to. */
  readonly providers: readonly ProviderFile[];
  /** In the order of the files; a file may have several. */
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
  let known = new Map<string, Reading>();
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
      const reading = isKnown ? earlier : readModel(file, text, providers.byName, check, earlier);
      known.set(file, reading);
      problems.push(...reading.problems);
      const given = reading.model ?? accepted.get(file);
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

/** What a file was read as: a model, or everything that is wrong with it. */
interface Reading {
  readonly text: string;
  readonly providers: ReadonlyMap<string, ProviderFile>;
  /** The parsed file with what its providers add. */
  readonly merged: unknown;
  readonly model: CatalogueModel | undefined;
  readonly problems: readonly ModelFileError[];
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
  earlier: Reading | undefined,
): Reading {
  let merged: unknown;
  try {
    merged = mergeProviders(file, parse(file, text), providers);
  } catch (error) {
    if (error instanceof ModelFileError) {
      return { text, providers, merged: undefined, model: undefined, problems: [error] };
    }
    throw error;
  }
  // Another provider has changed: the definition is the same object, so that it is not compiled again.
  if (earlier?.model !== undefined && isDeepStrictEqual(earlier.merged, merged)) return { ...earlier, text, providers };
  const read = modelOf(merged, check);
  return Array.isArray(read)
    ? { text, providers, merged, model: undefined, problems: read.map((problem) => new ModelFileError(file, problem)) }
    : { text, providers, merged, model: read, problems: [] };
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

/**
 * @returns the model; or everything that is wrong with the file, each with its position, and with its form alone if that
 *   is not right.
 */
function modelOf(parsed: unknown, check: MediaModelCheck): CatalogueModel | string[] {
  const isText = typeof parsed === 'object' && parsed !== null && 'modality' in parsed && parsed.modality === 'text';
  const ofForm = (isText ? checkTextDefinition : check.form)(parsed).map(({ message }) => message);
  if (ofForm.length > 0) return ofForm;
  // Its form was checked.
  const file = parsed as CatalogueModel;
  const model = isTextModel(file) ? file : expandPools(file);
  if (typeof model === 'string') return [model];
  const { deprecatedAt, retiresAt } = model;
  const problems = [
    ...(isTextModel(model) ? (findTextModelProblem(model) ?? []) : mediaProblemsIn(model, check)),
    ...(deprecatedAt !== undefined && retiresAt !== undefined && retiresAt < deprecatedAt
      ? [`retiresAt: ${retiresAt} is before deprecatedAt, ${deprecatedAt}`]
      : []),
  ];
  return problems.length === 0 ? model : problems;
}

/** What is wrong with the form of a model file, and with its upstreams. */
interface MediaModelCheck {
  readonly form: FindViolations;
  readonly upstreams: (definition: ModelDefinition) => readonly string[];
}

function mediaModelCheck(protocols: readonly Protocol[]): MediaModelCheck {
  return {
    form: compileViolations(modelDefinitionSchema(protocols), 'invalid model file'),
    upstreams: (definition) => findUpstreamProblems(definition, protocols),
  };
}

function mediaProblemsIn(definition: ModelDefinition, check: MediaModelCheck): readonly string[] {
  return [
    ...(definition.routes[DEFAULT_ROUTE] === undefined ? [`routes: there is no ${DEFAULT_ROUTE} route`] : []),
    ...check.upstreams(definition),
    ...schemaProblemsIn(definition),
  ];
}

/**
 * An example that its own schema rejects would mislead everyone who copies it; a price must fit whatever the schema
 * accepts.
 */
function schemaProblemsIn(definition: ModelDefinition): readonly string[] {
  const { inputSchema, pricing, examples } = definition;
  let checkInput: Check;
  try {
    checkInput = compileCheck(inputSchema, 'invalid input');
  } catch (error) {
    return [`inputSchema: ${error instanceof Error ? error.message : 'not a schema'}`];
  }
  // Spec §2.5.1: a field that is not in the schema is rejected.
  const isClosed = inputSchema['type'] === 'object' && inputSchema['additionalProperties'] === false;
  const priced = findPricingProblem(definition);
  const costed = findCostProblem(definition);
  const ofExamples = examples.flatMap((example, index) => {
    const problem = checkInput(example);
    if (problem !== undefined) return `examples.${index}: ${problem}`;
    const filled = checkInput(withDefaults(inputSchema, example));
    if (filled !== undefined) return `inputSchema: a default is not allowed: ${filled}`;
    if (priced === undefined) worstCaseCost(pricing, example);
    return [];
  });
  return [
    ...(isClosed ? [] : ['inputSchema: it must have "type": "object" and "additionalProperties": false']),
    ...[priced, costed, findTranscriptionProblem(definition)].filter((problem) => problem !== undefined),
    ...findDialectProblems(definition),
    ...new Set(ofExamples),
  ];
}
