/**
 * Reads model files and says, for a bad one, which file, which place in it and why. What is read is proven here, so that
 * nobody meets a model that has no price for an input it accepts.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { priceProblem } from './price-proof.ts';
import { worstCaseCost } from './price.ts';
import { DEFAULT_ROUTE, ModelDefinitionSchema } from './definition.ts';
import type { ModelDefinition } from './definition.ts';
import { compileCheck } from './schema-validation.ts';

/** A model file that cannot be used. */
export class ModelFileError extends Error {
  override readonly name = 'ModelFileError';
  readonly file: string;

  constructor(file: string, problem: string, options: { cause?: unknown } = {}) {
    super(`${file}: ${problem}`, options);
    this.file = file;
  }
}

const checkDefinition = compileCheck(ModelDefinitionSchema, 'invalid model file');

/**
 * Reads every `*.json` of the folders, in the order of their names.
 *
 * @throws {ModelFileError} the first bad file.
 */
export async function loadModels(folders: readonly string[]): Promise<readonly ModelDefinition[]> {
  const files = new Map<string, { readonly file: string; readonly definition: ModelDefinition }>();
  for (const folder of folders) {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
    for (const name of names) {
      const file = path.join(folder, name);
      const definition = await loadModel(file);
      const other = files.get(definition.name);
      if (other !== undefined) throw new ModelFileError(file, `name: ${other.file} has ${definition.name} already`);
      files.set(definition.name, { file, definition });
    }
  }
  for (const { file, definition } of files.values()) {
    const { replacement } = definition;
    if (replacement === undefined) continue;
    if (replacement === definition.name || !files.has(replacement)) {
      throw new ModelFileError(file, `replacement: there is no other model called ${replacement}`);
    }
  }
  return [...files.values()].map(({ definition }) => definition);
}

async function loadModel(file: string): Promise<ModelDefinition> {
  const text = await readFile(file, 'utf8');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ModelFileError(file, error instanceof Error ? error.message : 'not JSON', { cause: error });
  }
  const problem = checkDefinition(parsed);
  if (problem !== undefined) throw new ModelFileError(file, problem);
  const definition = parsed as ModelDefinition;
  if (definition.routes[DEFAULT_ROUTE] === undefined) {
    throw new ModelFileError(file, `routes: there is no ${DEFAULT_ROUTE} route`);
  }
  const { deprecatedAt, retiresAt } = definition;
  if (deprecatedAt !== undefined && retiresAt !== undefined && retiresAt < deprecatedAt) {
    throw new ModelFileError(file, `retiresAt: ${retiresAt} is before deprecatedAt, ${deprecatedAt}`);
  }
  checkSchema(file, definition);
  return definition;
}

/** An example that its own schema refuses would mislead everyone who copies it; a price must fit whatever it accepts. */
function checkSchema(file: string, definition: ModelDefinition): void {
  let checkInput;
  try {
    checkInput = compileCheck(definition.inputSchema, 'invalid input');
  } catch (error) {
    throw new ModelFileError(file, `inputSchema: ${error instanceof Error ? error.message : 'not a schema'}`, {
      cause: error,
    });
  }
  // Spec §2.5.1: a field that is not in the schema is refused.
  if (definition.inputSchema['type'] !== 'object' || definition.inputSchema['additionalProperties'] !== false) {
    throw new ModelFileError(file, 'inputSchema: it must have "type": "object" and "additionalProperties": false');
  }
  const priced = priceProblem(definition);
  if (priced !== undefined) throw new ModelFileError(file, priced);
  definition.examples.forEach((example, place) => {
    const problem = checkInput(example);
    if (problem !== undefined) throw new ModelFileError(file, `examples.${place}: ${problem}`);
    worstCaseCost(definition.pricing, example);
  });
}
