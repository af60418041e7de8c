/**
 * Reads model files and reports, for a bad one, which file, which position in it and why. What is read is proven
 * here, so that no model lacks a price for an input it accepts.
 */
import path from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { packageFile } from '../config/package-root.ts';
import { compileCheck, compileViolations } from '../schema/schema-validation.ts';
import type { Check, FindViolations } from '../schema/schema-validation.ts';
import { DEFAULT_ROUTE, modelDefinitionSchema, upstreamSchema } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { findDialectProblems } from './dialect-proof.ts';
import { expandPools } from './expand-pools.ts';
import { withDefaults } from './input-defaults.ts';
import { findMediaTypeProblems, findTranscriptionProblem } from './media-proof.ts';
import { ModelFileError, isProviderFile, parseModelFile, readModelTexts, throwProblems } from './model-files.ts';
import type { ModelTexts } from './model-files.ts';
import { NO_SETTINGS, createOffer } from './offer.ts';
import { findCostProblem, findPricingProblem } from './price-proof.ts';
import { worstCaseCost } from './price.ts';
import { findUpstreamProblems } from './protocol.ts';
import type { Protocol, UpstreamProblem } from './protocol.ts';
import { createProviderReader, locateProblems, mergeProviders } from './provider-file.ts';
import type { KnownProviders, Problem, ProviderFile } from './provider-file.ts';
import { TextModelDefinitionSchema, TextUpstreamSchema, findTextModelProblem, isTextModel } from './text-definition.ts';
import type { CatalogueModel, TextModelDefinition } from './text-definition.ts';

/**
 * The content of model files. A bad file keeps the definition that it had when it was last good, so that it blocks no
 * other; one that never was good has none.
 */
export interface ReadModels {
  readonly definitions: readonly CatalogueModel[];
  /** The same by the path of the file. */
  readonly files: ReadonlyMap<string, CatalogueModel>;
  /** The providers that definitions can refer to. */
  readonly providers: readonly ProviderFile[];
  /** In the order of the files; a file may have several. */
  readonly problems: readonly ModelFileError[];
  /** Computes the list of the files that have no problem, for the build. */
  readonly proven: () => ProvenModels;
}

/**
 * Parses the contents of model files, one read after the other. For content that it has parsed before, it returns the
 * same definition object.
 */
export type ModelReader = (texts: ModelTexts) => Promise<ReadModels>;

/**
 * For how long to work before everything else in the process has its turn: the schema of one model takes some
 * milliseconds to compile, and a catalogue may have thousands.
 */
const TURN_MS = 50;

/** Written by the build's last step (src/commands/prove-models.ts). */
export const PROVEN_MODELS = packageFile('dist/proven-models.json');

/** The hashes of files with what their providers add to them. */
export type ProvenModels = ReadonlySet<string>;

const NOTHING_PROVEN: ProvenModels = new Set();

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
  const read = await createModelReader(protocols)(await readModelTexts(directories));
  throwProblems(read.problems);
  return createOffer(NO_SETTINGS)(read);
}

/**
 * @param protocols that model files can name.
 * @param proven files that are known to have no problem: what they contain is not checked.
 */
export function createModelReader(protocols: readonly Protocol[], proven: ProvenModels = NOTHING_PROVEN): ModelReader {
  const check = modelCheck(protocols, proven);
  const readProviders = createProviderReader([TextUpstreamSchema, upstreamSchema(protocols)]);
  let known = new Map<string, Reading>();
  /** The result of the last read, by file. */
  let accepted: ReadonlyMap<string, CatalogueModel> = new Map();
  return async (texts) => {
    const now: typeof known = new Map();
    const takeTurns = createTurns();
    const { known: providers, problems: ofProviders } = readProviders(texts);
    const files = new Map<string, CatalogueModel>();
    const problems: ModelFileError[] = [...ofProviders];
    for (const [file, text] of texts) {
      if (isProviderFile(file)) continue;
      await takeTurns();
      if (text instanceof ModelFileError) {
        problems.push(text);
        for (const [previous, model] of accepted) if (isIn(previous, file)) files.set(previous, model);
        continue;
      }
      const earlier = known.get(file);
      const isKnown = earlier?.text === text && earlier.providers === providers;
      const reading = isKnown ? earlier : readModel(file, text, providers, check, earlier);
      now.set(file, reading);
      problems.push(...reading.problems);
      const given = reading.model ?? accepted.get(file);
      if (given !== undefined) files.set(file, given);
    }
    const between = revertConflicts(files, accepted);
    accepted = files;
    known = now;
    return {
      definitions: [...files.values()],
      files,
      providers: [...providers.byName.values()],
      // Each model of a provider finds what is wrong with its file.
      problems: [...new Map([...problems, ...between].map((each) => [each.message, each])).values()],
      proven: () =>
        new Set([...now.values()].flatMap(({ merged, model }) => (model === undefined ? [] : hashOfModel(merged)))),
    };
  };
}

/** @returns waits for the others in the process if it is their turn. */
function createTurns(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < TURN_MS) return;
    await immediate();
    since = performance.now();
  };
}

/** What a file was read as: a model, or everything that is wrong with it. */
interface Reading {
  readonly text: string;
  readonly providers: KnownProviders;
  /** The parsed file with what its providers add. */
  readonly merged: unknown;
  readonly model: CatalogueModel | undefined;
  readonly problems: readonly ModelFileError[];
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

function generatesImages(model: CatalogueModel): boolean {
  return !isTextModel(model) && model.dialects?.openai?.['images/generations'] !== undefined;
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
  const generating = new Set([...files.values()].filter(generatesImages).map(({ name }) => name));
  for (const [file, model] of files) {
    const imageModel = isTextModel(model) ? model.imageModel : undefined;
    if (imageModel === undefined || generating.has(imageModel)) continue;
    const problem = `imageModel: there is no model called ${imageModel} that answers /v1/images/generations`;
    problems.push(new ModelFileError(file, problem));
  }
  return problems;
}

function readModel(
  file: string,
  text: string,
  providers: KnownProviders,
  check: ModelCheck,
  earlier: Reading | undefined,
): Reading {
  let own: unknown;
  let merged: unknown;
  try {
    own = parseModelFile(file, text);
    merged = mergeProviders(file, own, providers);
  } catch (error) {
    if (error instanceof ModelFileError) {
      return { text, providers, merged: undefined, model: undefined, problems: [error] };
    }
    throw error;
  }
  // Another provider has changed: the definition is the same object, so that it is not compiled again.
  if (earlier?.model !== undefined && isDeepStrictEqual(earlier.merged, merged)) return { ...earlier, text, providers };
  const { model, problems: found } = modelOf(merged, check);
  const problems = locateProblems(found, { file, own, providers });
  return { text, providers, merged, model: problems.length === 0 ? model : undefined, problems };
}

/** @returns everything that is wrong with the file; and the model, if its form is right. */
function modelOf(
  parsed: unknown,
  check: ModelCheck,
): { readonly model?: CatalogueModel; readonly problems: readonly Problem[] } {
  const isProven = check.isProven(parsed);
  const isText = typeof parsed === 'object' && parsed !== null && 'modality' in parsed && parsed.modality === 'text';
  const ofForm = isProven ? [] : (isText ? check.textForm : check.mediaForm)(parsed).map(({ message }) => message);
  if (ofForm.length > 0) return { problems: ofForm };
  // Its form was checked, now or by the build.
  const file = parsed as CatalogueModel;
  const model = isTextModel(file) ? file : expandPools(file);
  if (typeof model === 'string') return { problems: [model] };
  if (isProven) return { model, problems: [] };
  const { deprecatedAt, retiresAt } = model;
  const problems = [
    ...(isTextModel(model) ? textProblemsIn(model) : mediaProblemsIn(model, check)),
    ...(deprecatedAt !== undefined && retiresAt !== undefined && retiresAt < deprecatedAt
      ? [`retiresAt: ${retiresAt} is before deprecatedAt, ${deprecatedAt}`]
      : []),
  ];
  return { model, problems };
}

/** What is wrong with the form of a model file, and with its upstreams. */
interface ModelCheck {
  /** @param merged the parsed file with what its provider adds. */
  readonly isProven: (merged: unknown) => boolean;
  readonly textForm: FindViolations;
  readonly mediaForm: FindViolations;
  readonly upstreams: (definition: ModelDefinition) => readonly UpstreamProblem[];
}

function modelCheck(protocols: readonly Protocol[], proven: ProvenModels): ModelCheck {
  return {
    isProven: (merged) => proven.size > 0 && proven.has(hashOfModel(merged)),
    textForm: compiledWhenUsed(TextModelDefinitionSchema),
    mediaForm: compiledWhenUsed(modelDefinitionSchema(protocols)),
    upstreams: (definition) => findUpstreamProblems(definition, protocols),
  };
}

function compiledWhenUsed(schema: object): FindViolations {
  let find: FindViolations | undefined;
  return (value) => (find ??= compileViolations(schema, 'invalid model file'))(value);
}

function textProblemsIn(definition: TextModelDefinition): readonly Problem[] {
  const problem = findTextModelProblem(definition);
  return problem === undefined ? [] : [problem];
}

function mediaProblemsIn(definition: ModelDefinition, check: ModelCheck): readonly Problem[] {
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
    ...findMediaTypeProblems(inputSchema),
    ...[priced, costed, findTranscriptionProblem(definition)].filter((problem) => problem !== undefined),
    ...findDialectProblems(definition),
    ...new Set(ofExamples),
  ];
}

/** @param merged the parsed file with what its provider adds. */
export function hashOfModel(merged: unknown): string {
  return createHash('sha256').update(JSON.stringify(merged)).digest('hex');
}

/**
 * The model files that the build has read without a problem. An api takes them as they are: to prove the hundred files
 * of the package anew takes it longer than all else that it does when it starts.
 *
 * @returns none where the build had no model files.
 */
export async function readProvenModels(): Promise<ProvenModels> {
  const text = await readFile(PROVEN_MODELS, 'utf8').catch(() => '[]');
  return new Set(JSON.parse(text) as readonly string[]);
}
