/**
 * From the arguments of `run` to the body of `POST /tasks`: the model's schema is fetched, values are converted to its
 * types, files are uploaded.
 */
import { readFile } from 'node:fs/promises';
import { ApiError, modelPath } from '@darkroom/api/client/api-client';
import type { ApiClient } from '@darkroom/api/client/api-client';
import type { TaskRequest } from './create-task.ts';
import { errorCodeOf } from './error-code.ts';
import { UsageError } from './errors.ts';
import { assignInput } from './input-values.ts';
import { pairs } from './session.ts';
import type { Session } from './session.ts';
import { readStdin } from './stdin-text.ts';
import { uploadFiles } from './uploads.ts';
import type { CliEnvironment } from './cli-environment.ts';
import type { JsonSchema } from './json-schema.ts';
import type { WireModelDetail } from '@darkroom/api/tasks/model';

export interface RequestOptions {
  readonly input?: string;
  readonly route?: string;
  readonly storage?: string;
  readonly metadata?: readonly string[];
  readonly callback?: string;
  readonly maxCost?: string;
  readonly timeout?: number;
}

/** @throws {UsageError} a file or an assignment cannot be read. @throws {ApiError} */
export async function readRequest(
  { api, terminal, cli }: Session,
  model: string,
  assignments: readonly string[],
  options: RequestOptions,
): Promise<TaskRequest> {
  const base = options.input === undefined ? {} : await readInput(options.input, cli);
  const metadata = options.metadata === undefined ? undefined : pairs('--metadata', options.metadata);
  const schema = assignments.length === 0 ? undefined : await readSchema(api, model, terminal.say);
  const input = await uploadFiles(api, assignInput(base, assignments, schema), terminal.say);
  return {
    model,
    input,
    ...(options.route === undefined ? {} : { route: options.route }),
    ...(options.storage === undefined ? {} : { storage: options.storage }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(options.callback === undefined ? {} : { callback: { url: options.callback } }),
    ...(options.maxCost === undefined ? {} : { maxCost: options.maxCost }),
    ...(options.timeout === undefined ? {} : { timeoutSeconds: options.timeout }),
  };
}

async function readInput(file: string, cli: CliEnvironment): Promise<Readonly<Record<string, unknown>>> {
  let content: string;
  try {
    content = file === '-' ? await readStdin(cli) : await readFile(file, 'utf8');
  } catch (error) {
    const code = errorCodeOf(error) ?? String(error);
    throw new UsageError(`--input ${file} cannot be read: ${code}`, { cause: error });
  }
  let input: unknown;
  try {
    input = JSON.parse(content);
  } catch (error) {
    throw new UsageError(`--input ${file} is not JSON`, { cause: error });
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new UsageError(`--input ${file} is not a JSON object: it has the fields of the input`);
  }
  return input as Readonly<Record<string, unknown>>;
}

/** @returns undefined if the model does not exist or is not visible to this key: the create then reports the error. */
async function readSchema(api: ApiClient, model: string, say: (line: string) => void): Promise<JsonSchema | undefined> {
  // The older notation for a route is not part of the name.
  const [name = model] = model.split('@');
  try {
    const { input_schema: schema } = await api.call<WireModelDetail>('GET', modelPath(name));
    return schema;
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 403)) throw error;
    if (error.status === 403) say(`${error.message}; every value is sent as a text (--input takes JSON)`);
    return undefined;
  }
}
