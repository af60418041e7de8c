/**
 * How complex the JSON Schemas of one request may be (response formats and the parameters of functions), validated
 * before anything is done with them, for every model: a few hundred bytes of `allOf` and `$ref` can stand for more
 * parts than any process can combine. What exceeds the bounds is rejected by its name.
 */
import { SchemaReader, SchemaTooComplexError, WorkLimit, isObject } from '@darkroom/offline-text/schema-reader';
import type { FunctionTool, JsonSchema, OutputFormat } from './request.ts';
import { InvalidTextRequest } from './text-failure.ts';

/**
 * Values in all schemas of a request, lists and objects included: several times what OpenAI's strict subset accepts.
 */
const MAX_VALUES = 50_000;
/**
 * The maximum number of parts and members that result from resolving all references and all `allOf`: some hundredths of
 * a second of work.
 */
const MAX_WORK = 200_000;

/**
 * @param names of the fields, for the error.
 * @throws {InvalidTextRequest}
 */
export function requireBoundedSchemas(
  { format, tools }: { readonly format: OutputFormat; readonly tools: readonly FunctionTool[] },
  names: { readonly format: string; readonly parameters: (index: number) => string },
): void {
  const work = new WorkLimit(MAX_WORK);
  let values = MAX_VALUES;
  const check = (schema: JsonSchema | undefined, param: string): void => {
    if (schema === undefined) return;
    const reader = new SchemaReader(schema, work);
    const open: unknown[] = [schema];
    while (open.length > 0) {
      const value = open.pop();
      values -= 1;
      if (values < 0) throw tooComplex(param, `the schemas of the request have more than ${MAX_VALUES} values`);
      if (typeof value !== 'object' || value === null) continue;
      for (const member of Object.values(value)) open.push(member);
      if (!isObject(value) || (value['$ref'] === undefined && value['allOf'] === undefined)) continue;
      try {
        reader.resolve(value);
      } catch (error) {
        if (!(error instanceof SchemaTooComplexError)) throw error;
        throw tooComplex(param, 'its parts refer to one another too often; use fewer $ref and allOf');
      }
    }
  };
  if (format.type === 'json_schema') check(format.schema, names.format);
  for (const [index, { parameters }] of tools.entries()) check(parameters, names.parameters(index));
}

function tooComplex(param: string, message: string): InvalidTextRequest {
  return new InvalidTextRequest(param, `${param}: ${message}`);
}
