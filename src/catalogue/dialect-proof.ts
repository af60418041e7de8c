/**
 * Proves that the rules of `dialects.openai` fit the input schema of the same model, so that a request in OpenAI's form
 * is never rejected because of a rule: every field exists, every mapped value is valid, no two rules set one field, and
 * a field that the model requires is always set.
 */
import { isRecord } from '../domain/json.ts';
import { compileViolation } from '../schema/schema-validation.ts';
import { FORMATS_FIELD, TRANSCRIPT_FORMATS } from '../transcripts/formats.ts';
import type { ModelDefinition } from './definition.ts';
import { MEDIA_ENDPOINTS } from './openai-endpoints.ts';
import type { EndpointField, EndpointRules, FieldRule, MediaEndpoint, MediaEndpointName } from './openai-endpoints.ts';
import { transcriptFormatOf } from './openai-input.ts';

type Schema = ModelDefinition['inputSchema'];

/** @returns everything that is wrong, each with its position in the file. */
export function findDialectProblems({ dialects, modality, inputSchema }: ModelDefinition): readonly string[] {
  const declared = dialects?.openai ?? {};
  const names = Object.keys(MEDIA_ENDPOINTS) as MediaEndpointName[];
  return names.flatMap((name) => {
    const rules = declared[name];
    if (rules === undefined) return [];
    const endpoint: MediaEndpoint = MEDIA_ENDPOINTS[name];
    const place = `dialects.openai.${name}`;
    if (endpoint.modality !== modality) return [`${place}: it is for models of modality ${endpoint.modality}`];
    const ofRules = Object.entries(rules).flatMap(([field, rule]) =>
      problemsOfRule(`${place}.${field}`, endpoint.fields[field] ?? {}, rule, inputSchema),
    );
    if (ofRules.length > 0) return ofRules;
    return [
      ...conflictsIn(place, rules),
      ...unsetIn(place, endpoint, rules, inputSchema),
      ...(endpoint.modality === 'transcription' ? formatProblemsIn(place, rules, inputSchema) : []),
    ];
  });
}

function problemsOfRule(
  place: string,
  { isFile }: EndpointField,
  { field: own, values }: FieldRule,
  schema: Schema,
): string[] {
  if ((own === undefined) === (values === undefined)) return [`${place}: it needs either field or values`];
  const properties = propertiesOf(schema);
  if (own !== undefined) {
    if (!Object.hasOwn(properties, own)) {
      return [`${place}.field: the inputSchema has no property ${JSON.stringify(own)}`];
    }
    return isFile === true && !takesMedia(properties[own])
      ? [`${place}.field: the property ${JSON.stringify(own)} takes no media; it needs contentMediaType`]
      : [];
  }
  if (isFile === true) return [`${place}: a file is passed on under the name of a field`];
  const find = compileViolation(partOf(schema), 'invalid input');
  return Object.entries(values ?? {}).flatMap(([value, members]) => {
    const violation = find(members);
    return violation === undefined ? [] : [`${place}.values.${value}: ${violation.message}`];
  });
}

/** Whether a property is the URL of a file, or a list of them. */
function takesMedia(property: unknown): boolean {
  if (!isRecord(property)) return false;
  return (
    typeof property['contentMediaType'] === 'string' || (property['type'] === 'array' && takesMedia(property['items']))
  );
}

/** What the schema requires of each field, when any of them may be missing. */
function partOf(schema: Schema): object {
  return {
    type: 'object',
    additionalProperties: false,
    properties: propertiesOf(schema),
    ...(schema['$defs'] === undefined ? {} : { $defs: schema['$defs'] }),
  };
}

function conflictsIn(place: string, rules: EndpointRules): string[] {
  const setBy = new Map<string, string>();
  return Object.entries(rules).flatMap(([field, rule]) =>
    fieldsSetBy(rule).flatMap((own) => {
      const other = setBy.get(own);
      setBy.set(own, field);
      return other === undefined ? [] : [`${place}.${field}: ${other} sets ${own} already`];
    }),
  );
}

function fieldsSetBy({ field, values = {} }: FieldRule): readonly string[] {
  return field === undefined ? [...new Set(Object.values(values).flatMap(Object.keys))] : [field];
}

/** Fields that the model requires and a request may leave unset. */
function unsetIn(place: string, { fields }: MediaEndpoint, rules: EndpointRules, schema: Schema): string[] {
  const alwaysSet = new Set(
    Object.entries(rules)
      .filter(([field]) => fields[field]?.isRequired === true || fields[field]?.mayBeRequired === true)
      .flatMap(([, rule]) => fieldsSetBy(rule).filter((own) => isSetByAll(rule, own))),
  );
  const undeclared = Object.entries(fields)
    .filter(([field, { isRequired }]) => isRequired === true && !Object.hasOwn(rules, field))
    .map(([field]) => `${place}: every request has ${field}, so it needs a rule`);
  const { required } = schema;
  const missing = (Array.isArray(required) ? required.map(String) : [])
    .filter((own) => !alwaysSet.has(own))
    .map((own) => `${place}: the model requires ${own}, and no field of every request sets it`);
  return [...undeclared, ...missing];
}

function isSetByAll({ field, values = {} }: FieldRule, own: string): boolean {
  return field === own || Object.values(values).every((members) => Object.hasOwn(members, own));
}

/** The response is the file of the requested format, so the task has to make it. */
function formatProblemsIn(place: string, rules: EndpointRules, schema: Schema): string[] {
  const formats: FieldRule = rules['response_format'] ?? { values: { json: {} } };
  const { values } = formats;
  if (values === undefined) return [`${place}.response_format: it needs values`];
  if (!Object.hasOwn(values, 'json')) {
    return [`${place}.response_format.values: it needs json, the default`];
  }
  return Object.entries(values).flatMap(([value, members]) => {
    const format = transcriptFormatOf(value);
    if (format === undefined) {
      return [
        `${place}.response_format.values: there is no ${value}, only ${TRANSCRIPT_FORMATS.join(', ')}, verbose_json`,
      ];
    }
    return listedIn(members, schema).includes(format)
      ? []
      : [`${place}.response_format.values.${value}: the task makes no file of format ${format}`];
  });
}

/** The formats that a task with these members makes (transcripts/formats.ts). */
function listedIn(members: Readonly<Record<string, unknown>>, schema: Schema): readonly unknown[] {
  const property = propertiesOf(schema)[FORMATS_FIELD];
  const fallback: unknown = typeof property === 'object' && property !== null ? Reflect.get(property, 'default') : [];
  const listed = Object.hasOwn(members, FORMATS_FIELD) ? members[FORMATS_FIELD] : fallback;
  return Array.isArray(listed) && listed.length > 0 ? listed : ['json'];
}

function propertiesOf({ properties }: Schema): Readonly<Record<string, unknown>> {
  return isRecord(properties) ? properties : {};
}
