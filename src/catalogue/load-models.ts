/**
 * Reads model files and says, for a bad one, which file, which place in it and why.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
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
  const definitions: ModelDefinition[] = [];
  for (const folder of folders) {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
    for (const name of names) definitions.push(await loadModel(path.join(folder, name)));
  }
  return definitions;
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
  checkExamples(file, definition);
  return definition;
}

/** An example that its own schema refuses would mislead everyone who copies it. */
function checkExamples(file: string, definition: ModelDefinition): void {
  let checkInput;
  try {
    checkInput = compileCheck(definition.inputSchema, 'invalid input');
  } catch (error) {
    throw new ModelFileError(file, `inputSchema: ${error instanceof Error ? error.message : 'not a schema'}`, {
      cause: error,
    });
  }
  definition.examples.forEach((example, place) => {
    const problem = checkInput(example);
    if (problem !== undefined) throw new ModelFileError(file, `examples.${place}: ${problem}`);
    worstCaseCost(definition.pricing, example);
  });
}
