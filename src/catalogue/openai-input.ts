/** Translates the fields of a request in OpenAI's form into a model's input, by the rules of its file. */
import { DarkroomError } from '../domain/darkroom-error.ts';
import { isRecord } from '../domain/json-members.ts';
import type { TranscriptFormat } from '../transcripts/formats.ts';
import { TRANSCRIPT_FORMATS } from '../transcripts/formats.ts';
import type { ModelDefinition } from './definition.ts';
import { MEDIA_ENDPOINTS } from './openai-endpoints.ts';
import type { EndpointField, EndpointRules, MediaEndpoint, MediaEndpointName } from './openai-endpoints.ts';
import type { CatalogueModel } from './text-definition.ts';
import { isTextModel } from './text-definition.ts';

/** A field that the model does not have, or a value that it does not have. */
export class UnsupportedFieldError extends DarkroomError {
  override readonly name = 'UnsupportedFieldError';
  override readonly kind = 'invalid_request';
  override readonly param: string;
  override readonly keyword: string;
  override readonly code: string;

  /** @param supported the values that it has; undefined: it does not have the field. */
  constructor(model: string, field: string, value: unknown, supported?: readonly string[]) {
    const got = JSON.stringify(value)?.slice(0, 64) ?? '';
    super(
      supported === undefined
        ? `invalid request: ${field}: the model ${model} does not have this field; leave it out`
        : `invalid request: ${field}: got ${got}, and the model ${model} has ${supported.join(', ')}`,
    );
    this.param = field;
    this.keyword = supported === undefined ? 'unsupported' : 'enum';
    this.code = supported === undefined ? 'unsupported_parameter' : 'invalid_value';
  }
}

/** The model exists and has no rules for the endpoint. */
export class OtherEndpointError extends DarkroomError {
  override readonly name = 'OtherEndpointError';
  override readonly kind = 'model_unavailable';
  override readonly param = 'model';

  constructor(model: CatalogueModel, endpoint: MediaEndpointName) {
    const { path } = MEDIA_ENDPOINTS[endpoint];
    super(
      `the model ${JSON.stringify(model.name)} does not answer ${path}; use it with ${endpointsOf(model).join(' or ')}`,
    );
  }
}

/** The paths of the endpoints that a model answers. */
export function endpointsOf(model: CatalogueModel): readonly string[] {
  if (isTextModel(model)) return ['/v1/chat/completions', '/v1/responses'];
  const names = Object.keys(MEDIA_ENDPOINTS) as MediaEndpointName[];
  const declared = names.filter((name) => model.dialects?.openai?.[name] !== undefined);
  return ['/v1/tasks', ...declared.map((name) => MEDIA_ENDPOINTS[name].path)];
}

/** Fields of a request; null means "not given", as at OpenAI. */
export type EndpointFields = Readonly<Record<string, unknown>>;

/**
 * Makes the model's input of the endpoint's fields; those that are not in MEDIA_ENDPOINTS are left to the caller.
 *
 * @throws {OtherEndpointError} @throws {UnsupportedFieldError} the model does not have a field, or a value of it.
 */
export function inputOf(
  definition: ModelDefinition,
  name: MediaEndpointName,
  given: EndpointFields,
): Readonly<Record<string, unknown>> {
  const rules = definition.dialects?.openai?.[name];
  if (rules === undefined) throw new OtherEndpointError(definition, name);
  const endpoint: MediaEndpoint = MEDIA_ENDPOINTS[name];
  const members = Object.entries(endpoint.fields).flatMap(([field, facts]) =>
    membersOf(definition, rules, field, facts, given[field] ?? undefined),
  );
  return Object.fromEntries(members);
}

type Members = readonly (readonly [string, unknown])[];

function membersOf(
  { name, inputSchema }: ModelDefinition,
  rules: EndpointRules,
  field: string,
  { defaults = [] }: EndpointField,
  value: unknown,
): Members {
  const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
  const isDefault = value === undefined || defaults.some((each) => each === value);
  if (rule === undefined) {
    if (isDefault) return [];
    throw new UnsupportedFieldError(name, field, value);
  }
  const { field: own, values } = rule;
  if (own !== undefined) {
    // The default that a model has no name for.
    return value === undefined || (isDefault && !isListed(inputSchema, own, value)) ? [] : [[own, value]];
  }
  // A field that is left out has its default.
  const key = value === undefined ? defaults[0] : value;
  const isKey = typeof key === 'string' || typeof key === 'number' || typeof key === 'boolean';
  const members = isKey && values !== undefined && Object.hasOwn(values, String(key)) ? values[String(key)] : undefined;
  if (members !== undefined) return Object.entries(members);
  if (isDefault) return [];
  throw new UnsupportedFieldError(name, field, value, Object.keys(values ?? {}));
}

/** Whether the model takes several files in a field of the request. */
export function takesSeveral(
  { dialects, inputSchema }: ModelDefinition,
  name: MediaEndpointName,
  field: string,
): boolean {
  const own = dialects?.openai?.[name]?.[field]?.field;
  return own !== undefined && valueAt(inputSchema['properties'], own, 'type') === 'array';
}

/** Whether a field of the model takes a value, if its schema lists those that it takes. */
function isListed({ properties }: ModelDefinition['inputSchema'], field: string, value: unknown): boolean {
  const listed = valueAt(properties, field, 'enum');
  return !Array.isArray(listed) || listed.includes(value);
}

/** A member of a member of a parsed value, if there is one. */
function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

/**
 * The field of OpenAI's form that set a field of the input.
 *
 * @param own its name in the input, of which only the part before the first dot counts.
 */
export function endpointFieldOf(
  { dialects }: ModelDefinition,
  name: MediaEndpointName,
  own: string,
): string | undefined {
  const [first = ''] = own.split('.');
  return Object.entries(dialects?.openai?.[name] ?? {}).find(
    ([, { field, values = {} }]) =>
      field === first || Object.values(values).some((members) => Object.hasOwn(members, first)),
  )?.[0];
}

/** The file of a transcription that a `response_format` is made from; undefined: there is no such format. */
export function transcriptFormatOf(responseFormat: string): TranscriptFormat | undefined {
  if (responseFormat === 'verbose_json') return 'json';
  return TRANSCRIPT_FORMATS.find((format) => format === responseFormat);
}
