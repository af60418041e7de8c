/**
 * Parameters that both endpoints have, in different positions: their valid values, their meaning, and how complex the
 * JSON Schemas among them may be.
 */
import type { ReasoningEffort } from '@darkroom/api/facts/text-options';
import { SchemaReader, SchemaTooComplexError, WorkLimit, isObject } from '@darkroom/offline-text/schema-reader';
import { formatDataUrl, isDataUrl, isPhonePhotographUrl, isPlainDataUrl, parseDataUrl } from '../domain/data-url.ts';
import { isRecord } from '../domain/json.ts';
import type { FunctionTool, JsonSchema, OutputFormat, TextRequest, ToolChoice } from './request.ts';
import { InvalidTextRequest } from './text-failure.ts';

/** Null is how many clients say "not given". */
export function given<T>(value: unknown): T | undefined {
  return value === null || value === undefined ? undefined : (value as T);
}

/**
 * Combines the parameters about reasoning.
 *
 * @param flat `reasoning_effort`, if the endpoint has it. @param nested the members of `reasoning`.
 * @throws {InvalidTextRequest} they contradict one another.
 */
export function reasoningEffortOf(
  flat: { readonly effort: ReasoningEffort | undefined; readonly param: string } | undefined,
  nested: { readonly effort: ReasoningEffort | undefined; readonly enabled: boolean | undefined },
): ReasoningEffort | undefined {
  const { enabled } = nested;
  if (flat?.effort !== undefined && nested.effort !== undefined && flat.effort !== nested.effort) {
    const message = `${flat.param} is ${flat.effort} and reasoning.effort is ${nested.effort}; send only one`;
    throw new InvalidTextRequest('reasoning.effort', message);
  }
  const effort = flat?.effort ?? nested.effort;
  const isContradiction =
    (enabled === false && effort !== undefined && effort !== 'none') || (enabled === true && effort === 'none');
  if (isContradiction) {
    const message = `reasoning.enabled is ${enabled} and the effort is ${effort}; give one`;
    throw new InvalidTextRequest('reasoning.enabled', message);
  }
  if (effort !== undefined) return effort;
  if (enabled === undefined) return undefined;
  return enabled ? 'medium' : 'none';
}

/** A tool as both endpoints describe it. */
export function functionTool(described: {
  readonly name: string;
  readonly description?: string | null;
  readonly parameters?: JsonSchema | null;
  readonly strict?: boolean | null;
}): FunctionTool {
  const { name, description, parameters, strict } = described;
  return {
    name,
    ...(given(description) === undefined ? {} : { description: description ?? '' }),
    ...(given(parameters) === undefined ? {} : { parameters: parameters ?? {} }),
    ...(given(strict) === undefined ? {} : { strict: strict === true }),
  };
}

/** Two functions with the same name cannot be distinguished. @throws {InvalidTextRequest} */
export function assertUniqueNames(tools: readonly FunctionTool[]): void {
  const seen = new Set<string>();
  tools.forEach(({ name }, index) => {
    if (seen.has(name))
      throw new InvalidTextRequest(`tools.${index}`, `tools.${index}: another function is called ${name}`);
    seen.add(name);
  });
}

/** `auto`, `none`, `required`. @throws {InvalidTextRequest} */
export function toolChoiceWord(value: string, tools: readonly FunctionTool[]): ToolChoice {
  if (value !== 'auto' && value !== 'none' && value !== 'required') {
    throw new InvalidTextRequest(
      'tool_choice',
      `tool_choice: got ${JSON.stringify(value.slice(0, 64))}, want auto, none, required or a function`,
    );
  }
  if (value === 'required' && tools.length === 0) {
    throw new InvalidTextRequest('tool_choice', 'tool_choice: required, and there are no tools');
  }
  return value;
}

/** A function by its name. @throws {InvalidTextRequest} there is no such tool. */
export function namedTool(name: string, tools: readonly FunctionTool[], param: string): ToolChoice {
  if (!tools.some((tool) => tool.name === name)) {
    throw new InvalidTextRequest(param, `${param}: no tool is called ${JSON.stringify(name.slice(0, 64))}`);
  }
  return { name };
}

/**
 * The members of a `json_schema` format, which the two endpoints have in different positions.
 *
 * @throws {InvalidTextRequest}
 */
export function schemaFormat(value: unknown, where: string): OutputFormat {
  const { name, schema, strict, description } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
    throw new InvalidTextRequest(`${where}.name`, `${where}.name: want letters, digits, _, - and ., 64 at most`);
  }
  if (!isRecord(schema)) {
    throw new InvalidTextRequest(`${where}.schema`, `${where}.schema: want a JSON Schema`);
  }
  if (given(strict) !== undefined && typeof strict !== 'boolean') {
    throw new InvalidTextRequest(`${where}.strict`, `${where}.strict: want true or false`, 'invalid_type');
  }
  return {
    type: 'json_schema',
    name,
    schema,
    strict: strict === true,
    ...(typeof description === 'string' ? { description } : {}),
  };
}

/** Whether a text has the form of a file's id. */
export function isFileReference(id: string): boolean {
  return /^[\w-]{1,64}$/.test(id);
}

/**
 * A URL that an upstream may fetch, or the image itself, in the one spelling of data URLs that upstreams know. Nothing is
 * fetched here.
 *
 * @returns undefined: it is neither.
 */
export function readImageUrl(url: string): string | undefined {
  if (isDataUrl(url)) return plainImageUrl(url);
  // Whether plain HTTP may be used is decided by the egress policy.
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? url : undefined;
}

function plainImageUrl(url: string): string | undefined {
  let plain = url;
  if (!isPlainDataUrl(url)) {
    const file = parseDataUrl(url);
    if (file === undefined || file.bytes.length === 0) return undefined;
    plain = formatDataUrl(file);
  }
  // Models do not read the photographs of phones; as an upload they become JPEG.
  return plain.startsWith('data:image/') && !isPhonePhotographUrl(plain) ? plain : undefined;
}

type Members = Readonly<Record<string, unknown>>;

/** The tools that the model may use, and how it has to use them. */
export interface ToolRules {
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
}

/** The position of the members in an endpoint's request, and which of them it accepts. */
export interface AllowedToolsForm {
  /** The field that contains `mode` and `tools`. */
  readonly path: string;
  /** The default is the first, if there is one. */
  readonly modes: readonly ('auto' | 'required' | 'none')[];
  readonly isModeOptional: boolean;
  /** The member of an entry that contains its name; undefined: the entry itself. */
  readonly nameMember: 'function' | undefined;
}

/**
 * `tool_choice` of type `allowed_tools` (contract §9). It is a hard constraint (Open Responses): a tool that is not
 * among them is withheld from the model, so that neither an upstream that does not know the type nor the offline text
 * model can call one.
 *
 * @throws {InvalidTextRequest} naming the field.
 */
export function allowedTools(
  { mode, tools: allowed }: Members,
  tools: readonly FunctionTool[],
  form: AllowedToolsForm,
): ToolRules {
  const { path, nameMember } = form;
  const toolChoice = modeOf(given(mode), form);
  if (!Array.isArray(allowed) || allowed.length === 0) {
    const example =
      nameMember === undefined ? '{"type":"function","name":…}' : '{"type":"function","function":{"name":…}}';
    throw new InvalidTextRequest(`${path}.tools`, `${path}.tools: want at least one ${example}`);
  }
  const names = new Set<string>();
  allowed.forEach((entry: unknown, index) => {
    const at = `${path}.tools.${index}`;
    const { type } = membersOf(entry);
    if (typeof type === 'string' && type !== 'function')
      throw builtInTool(type, `${at}.type`, nameMember === undefined);
    const { name } = nameMember === undefined ? membersOf(entry) : membersOf(membersOf(entry)[nameMember]);
    const nameAt = nameMember === undefined ? `${at}.name` : `${at}.${nameMember}.name`;
    if (typeof name !== 'string') throw new InvalidTextRequest(nameAt, `${nameAt}: want the name of a function`);
    namedTool(name, tools, nameAt);
    names.add(name);
  });
  return { tools: tools.filter(({ name }) => names.has(name)), toolChoice };
}

function modeOf(mode: unknown, { path, modes, isModeOptional }: AllowedToolsForm): ToolChoice {
  const [usual] = modes;
  if (mode === undefined && isModeOptional && usual !== undefined) return usual;
  const known = modes.find((each) => each === mode);
  if (known !== undefined) return known;
  const code = mode === undefined ? 'missing_required_parameter' : 'invalid_value';
  throw new InvalidTextRequest(`${path}.mode`, `${path}.mode: want one of ${modes.join(', ')}`, code);
}

function membersOf(value: unknown): Members {
  return (typeof value === 'object' && value !== null ? value : {}) as Members;
}

/**
 * The error for a tool that would run on the server, and that is not there.
 *
 * @param isOfResponse responses have one such tool, chat completions have none.
 */
export function builtInTool(type: string, param: string, isOfResponse: boolean): InvalidTextRequest {
  const shown = JSON.stringify(type.slice(0, 64));
  const supported = isOfResponse ? '"function" and "image_generation" are' : '"function" is';
  const message = `unsupported parameter: ${param}: got ${shown}, and only ${supported} supported`;
  return new InvalidTextRequest(param, message, 'unsupported_parameter');
}

/**
 * A client's body with `allowed_tools` expressed in terms that every server supports: the other tools are left out. The
 * hold is for that body, too (money/input-bound.ts).
 */
export function withAllowedTools(body: Members, { tools: allowed, toolChoice }: TextRequest): Members {
  const { tools, tool_choice: choice } = body;
  if (membersOf(choice)['type'] !== 'allowed_tools' || !Array.isArray(tools)) return body;
  const names = new Set<unknown>(allowed.map(({ name }) => name));
  const left = tools.filter((tool: unknown) => {
    const members = membersOf(tool);
    return names.has(membersOf(members['function'])['name'] ?? members['name']);
  });
  return { ...body, tools: left, tool_choice: toolChoice };
}

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
 * Checks the schemas of response formats and of the parameters of functions before anything is done with them, for
 * every model: a few hundred bytes of `allOf` and `$ref` can stand for more parts than any process can combine.
 *
 * @param names of the fields, for the error.
 * @throws {InvalidTextRequest} naming what exceeds the bounds.
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
