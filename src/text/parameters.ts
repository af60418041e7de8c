/** Parameters that both endpoints have, in different positions: their valid values, and their meaning. */
import { formatDataUrl, isDataUrl, isPhonePhotographUrl, isPlainDataUrl, parseDataUrl } from '../domain/data-url.ts';
import type { ReasoningEffort } from '@darkroom/api/facts/text-options';
import { InvalidTextRequest } from './text-failure.ts';
import type { FunctionTool, JsonSchema, OutputFormat, ToolChoice } from './request.ts';

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
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new InvalidTextRequest(`${where}.schema`, `${where}.schema: want a JSON Schema`);
  }
  if (given(strict) !== undefined && typeof strict !== 'boolean') {
    throw new InvalidTextRequest(`${where}.strict`, `${where}.strict: want true or false`, 'invalid_type');
  }
  return {
    type: 'json_schema',
    name,
    schema: schema as JsonSchema,
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
