/** Translates the fields of a request in OpenAI's form into a model's input, by the rules of its file. */
import { DarkroomError } from '../domain/darkroom-error.ts';
import { memberOf } from '../domain/json.ts';
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

/** The fields of a request that the model does not have and that are left out (`EndpointField.isOptionalHint`). */
export function ignoredFields(
  { dialects }: ModelDefinition,
  name: MediaEndpointName,
  given: EndpointFields,
): readonly string[] {
  const rules = dialects?.openai?.[name] ?? {};
  const { fields }: MediaEndpoint = MEDIA_ENDPOINTS[name];
  return Object.keys(fields).filter(
    (field) => fields[field]?.isOptionalHint === true && given[field] != null && !Object.hasOwn(rules, field),
  );
}

type Members = readonly (readonly [string, unknown])[];

function membersOf(
  { name, inputSchema }: ModelDefinition,
  rules: EndpointRules,
  field: string,
  facts: EndpointField,
  value: unknown,
): Members {
  const { defaults = [] } = facts;
  const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
  const isDefault = value === undefined || defaults.some((each) => each === value);
  if (rule === undefined) {
    if (isDefault || facts.isOptionalHint === true) return [];
    throw new UnsupportedFieldError(name, field, value);
  }
  const { field: own, values } = rule;
  if (own !== undefined) {
    // The default that a model has no name for.
    if (value === undefined || (isDefault && !isListed(inputSchema, own, value))) return [];
    return [[own, inTypeOf(inputSchema, own, facts, value)]];
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
  return own !== undefined && memberOfProperty(inputSchema, own, 'type') === 'array';
}

/** The values that a request may have in a field; empty if the model does not list them. */
export function valuesOf(
  { dialects, inputSchema }: ModelDefinition,
  name: MediaEndpointName,
  field: string,
): readonly string[] {
  const { field: own, values = {} } = dialects?.openai?.[name]?.[field] ?? {};
  if (own === undefined) return Object.keys(values);
  const listed = memberOfProperty(inputSchema, own, 'enum');
  return Array.isArray(listed) ? listed.filter((value) => typeof value === 'string') : [];
}

/** Whether a field of the model takes a value, if its schema lists those that it takes. */
function isListed(inputSchema: InputSchema, field: string, value: unknown): boolean {
  const listed = memberOfProperty(inputSchema, field, 'enum');
  return !Array.isArray(listed) || listed.includes(value);
}

/** A value in the type that the field of the model has, where clients send it in another one. */
function inTypeOf(inputSchema: InputSchema, field: string, facts: EndpointField, value: unknown): unknown {
  const type = memberOfProperty(inputSchema, field, 'type');
  if (facts.isFile === true && type === 'array') return Array.isArray(value) ? value : [value];
  if (facts.isNumberInString !== true || (typeof value !== 'string' && typeof value !== 'number')) return value;
  return type === 'string' ? String(value) : Number(value);
}

type InputSchema = ModelDefinition['inputSchema'];

/** @returns undefined: the schema has no such field, or says nothing of that about it. */
function memberOfProperty({ properties }: InputSchema, field: string, member: string): unknown {
  return memberOf(memberOf(properties, field), member);
}

/** The names of the input's fields that the rules of an endpoint can set. */
export function fieldsSetFor({ dialects }: ModelDefinition, name: MediaEndpointName): readonly string[] {
  return Object.values(dialects?.openai?.[name] ?? {}).flatMap(({ field, values = {} }) =>
    field === undefined ? Object.values(values).flatMap(Object.keys) : [field],
  );
}

/**
 * The value of an endpoint's field that an input corresponds to, the other way round than `inputOf`; undefined: there
 * is none. What the input leaves out has the default of the schema.
 */
export function requestedValueOf(
  { dialects, inputSchema }: ModelDefinition,
  name: MediaEndpointName,
  field: string,
  input: Readonly<Record<string, unknown>>,
): string | number | undefined {
  const { field: own, values = {} } = dialects?.openai?.[name]?.[field] ?? {};
  const valueOf = (each: string): unknown =>
    Object.hasOwn(input, each) ? input[each] : memberOfProperty(inputSchema, each, 'default');
  if (own === undefined) {
    const matches = ([, members]: [string, object]): boolean =>
      Object.keys(members).length > 0 && Object.entries(members).every(([each, value]) => valueOf(each) === value);
    return Object.entries(values).find(matches)?.[0];
  }
  const value = valueOf(own);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
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
