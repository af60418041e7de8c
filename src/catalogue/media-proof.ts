/**
 * What a model file says about media and transcripts, checked against its input schema: a field with files is one that
 * the schema marks with `contentMediaType`, and that is the type of files, or `image/*` for all of a kind. Which values
 * of an input are files is determined by `mediaOf` (src/tasks/record/input-media.ts), which reads the same keywords.
 */
import { isRecord, memberOf } from '../domain/json.ts';
import { FORMATS_FIELD, TRANSCRIPT_FORMATS } from '../transcripts/formats.ts';
import type { ModelDefinition } from './definition.ts';

type Schema = Readonly<Record<string, unknown>>;

/** `image/png`, `image/*`; parameters are never compared. */
const MEDIA_TYPE = /^(?:\*\/\*|[a-z]+\/(?:\*|[a-z0-9][a-z0-9.+-]*))$/;

/** `$ref`s that only refer to one another end here. */
const MAX_SCHEMA_DEPTH = 64;

/** Keywords with one schema, with a list of them, and with several by name. */
const WITH_SCHEMA = ['items', 'additionalProperties', 'contains', 'not', 'if', 'then', 'else'] as const;
const WITH_LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const WITH_MAP = ['properties', 'patternProperties', '$defs', 'dependentSchemas'] as const;

/** The position of what a transcription is written as. */
const FORMATS_PLACE = `inputSchema.properties.${FORMATS_FIELD}`;

/** A `contentMediaType`, which can be any JSON, and the position of its schema. */
interface FoundMediaType {
  readonly type: unknown;
  readonly position: string;
}

/** @returns every `contentMediaType` that no file can have, with its position. */
export function findMediaTypeProblems(inputSchema: Schema): readonly string[] {
  return mediaTypesIn(inputSchema)
    .filter(({ type }) => !(typeof type === 'string' && MEDIA_TYPE.test(type)))
    .map(
      ({ type, position }) =>
        `${position}.contentMediaType: ${JSON.stringify(type)} is no media type, such as image/png or image/*; ` +
        'several are an anyOf of schemas with one each',
    );
}

/** Every `contentMediaType` of a schema, wherever it is. */
export function mediaTypesIn(inputSchema: Schema): readonly FoundMediaType[] {
  const found: FoundMediaType[] = [];
  const visit = (node: unknown, position: string): void => {
    if (!isRecord(node)) return;
    const { contentMediaType: type } = node;
    if (type !== undefined) found.push({ type, position });
    for (const keyword of WITH_SCHEMA) visit(node[keyword], `${position}.${keyword}`);
    for (const keyword of WITH_LIST) {
      listOf(node[keyword]).forEach((each, index) => visit(each, `${position}.${keyword}.${index}`));
    }
    for (const keyword of WITH_MAP) {
      for (const [name, each] of entriesOf(node[keyword])) visit(each, `${position}.${keyword}.${name}`);
    }
  };
  visit(inputSchema, 'inputSchema');
  return found;
}

/** @returns why a field of the input never has files; undefined: it can. */
export function findMediaFieldProblem(inputSchema: Schema, field: string): string | undefined {
  const schemas = fieldsOf(inputSchema, inputSchema, 0).flatMap(([name, schema]) => (name === field ? [schema] : []));
  if (schemas.length === 0) return `inputSchema has no field ${field}`;
  const isMedia = schemas.some((schema) => hasMediaType(schema, inputSchema, 0));
  return isMedia ? undefined : `inputSchema gives ${field} no contentMediaType, so it has no files`;
}

/** The fields at the top level of an input. */
function fieldsOf(node: unknown, root: Schema, depth: number): readonly (readonly [string, unknown])[] {
  if (!isRecord(node) || depth > MAX_SCHEMA_DEPTH) return [];
  return [
    ...entriesOf(node['properties']),
    ...alternativesOf(node, root).flatMap((each) => fieldsOf(each, root, depth + 1)),
  ];
}

function hasMediaType(node: unknown, root: Schema, depth: number): boolean {
  if (!isRecord(node) || depth > MAX_SCHEMA_DEPTH) return false;
  if (typeof node['contentMediaType'] === 'string') return true;
  const within = [
    ...alternativesOf(node, root),
    ...listOf(node['prefixItems']),
    ...entriesOf(node['properties']).map(([, schema]) => schema),
    node['items'],
  ];
  return within.some((each) => hasMediaType(each, root, depth + 1));
}

/** The schemas that apply to the same value. */
function alternativesOf({ allOf, anyOf, oneOf, $ref }: Schema, root: Schema): readonly unknown[] {
  const name = typeof $ref === 'string' ? /^#\/\$defs\/([^/~%]+)$/.exec($ref)?.[1] : undefined;
  const referenced = entriesOf(root['$defs']).flatMap(([each, schema]) => (each === name ? [schema] : []));
  return [...[allOf, anyOf, oneOf].flatMap(listOf), ...referenced];
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isRecord(value) ? Object.entries(value) : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * What the input schema of a transcription has to have, beyond what that of every model has.
 *
 * @returns the problem, with its position in the file; undefined: none, or the model makes media.
 */
export function findTranscriptionProblem({ modality, inputSchema }: ModelDefinition): string | undefined {
  if (modality !== 'transcription') return undefined;
  const properties = memberOf(inputSchema, 'properties');
  if (!mediaTypesIn(inputSchema).some(({ type }) => /^(audio|video)\//.test(String(type)))) {
    return 'inputSchema.properties: a transcription needs a field with "contentMediaType": "audio/*" or "video/*"';
  }
  const formats = memberOf(properties, FORMATS_FIELD);
  // Without the field, a task makes JSON.
  if (formats === undefined) return undefined;
  const choices = memberOf(memberOf(formats, 'items'), 'enum');
  const names: readonly unknown[] = Array.isArray(choices) ? choices : [];
  const known = TRANSCRIPT_FORMATS.join(', ');
  if (memberOf(formats, 'type') !== 'array' || names.length === 0)
    return `${FORMATS_PLACE}: it lists formats, from ${known}`;
  const unknown = names.find((name) => !TRANSCRIPT_FORMATS.some((format) => format === name));
  if (unknown !== undefined) return `${FORMATS_PLACE}: there is no ${JSON.stringify(unknown)}, only ${known}`;
  if (memberOf(formats, 'minItems') !== 1 || memberOf(formats, 'uniqueItems') !== true) {
    return `${FORMATS_PLACE}: it needs "minItems": 1 and "uniqueItems": true`;
  }
  return undefined;
}
