/**
 * The media of an input: which of its fields take them, and which values are allowed there (contract §7 "Uploads",
 * spec §2.5). A model's schema marks such a field with the standard keyword `contentMediaType`. A URL of ours becomes
 * a reference to its object, which does not expire; any other URL is checked as far as that is possible without
 * connecting.
 */
import { formatDataUrl, isDataUrl, isPlainDataUrl, parseDataUrl } from '../../domain/data-url.ts';
import { isRecord } from '../../domain/json.ts';
import type { Queryable } from '../../database/database.ts';
import { checkUrl } from '../../egress/policy.ts';
import type { EgressPolicy } from '../../egress/policy.ts';
import {
  ownObjectId,
  referenceTo,
  referencedId,
  ExpiredUrlError,
  InvalidUrlError,
} from '../../objects/urls/signed-url.ts';
import type { UrlSigner } from '../../objects/urls/signed-url.ts';
import { isFileId } from '../../objects/uploads.ts';
import { findInputObjects } from './input-objects.ts';
import { violation } from '@darkroom/api/facts/violation';
import type { Violation } from '@darkroom/api/facts/violation';

type Input = Readonly<Record<string, unknown>>;

/** One URL in an input. */
export interface MediaField {
  /** `['image_urls', '0']`. */
  readonly path: readonly string[];
  readonly value: string;
  /** The content types that the schema states: `image/*`; several where it leaves a choice. */
  readonly accepts: readonly string[];
  /** Whether the schema has a pattern, which the value matches: only such a field can take a data URL. */
  readonly hasPattern: boolean;
}

/** Spec §2.5: a field that takes them is rare. */
const NO_DATA_URLS = 'data URLs are not taken here; upload the file (POST /v1/files) and send its URL';

/** `$ref`s that only refer to one another end here. */
const MAX_SCHEMA_DEPTH = 64;

/**
 * The media of a valid input, in the order of the schema.
 *
 * @param schema a model's input schema: `properties`, `items`, `prefixItems`, `allOf`, `anyOf`, `oneOf` and `$ref` to
 *   its own `$defs` are followed.
 */
export function mediaOf(schema: Input, input: Input): readonly MediaField[] {
  const found = new Map<string, MediaField>();

  function visit(node: unknown, value: unknown, path: readonly string[], depth: number): void {
    if (!isRecord(node) || value === undefined || depth > MAX_SCHEMA_DEPTH) return;
    const { contentMediaType, properties, items, prefixItems, allOf, anyOf, oneOf, $ref } = node;
    if (typeof contentMediaType === 'string' && typeof value === 'string') {
      const position = path.join('.');
      const earlier = found.get(position);
      found.set(position, {
        path,
        value,
        accepts: [...(earlier?.accepts ?? []), contentMediaType],
        hasPattern: earlier?.hasPattern === true || typeof node['pattern'] === 'string',
      });
    }
    for (const choice of [allOf, anyOf, oneOf]) {
      if (Array.isArray(choice)) for (const each of choice) visit(each, value, path, depth + 1);
    }
    if (typeof $ref === 'string') visit(definitionOf(schema, $ref), value, path, depth + 1);
    if (Array.isArray(value)) {
      const first = Array.isArray(prefixItems) ? prefixItems : [];
      value.forEach((each, index) => visit(first[index] ?? items, each, [...path, String(index)], depth + 1));
    } else if (isRecord(value) && isRecord(properties)) {
      for (const [name, property] of Object.entries(properties)) {
        if (Object.hasOwn(value, name)) visit(property, value[name], [...path, name], depth + 1);
      }
    }
  }

  visit(schema, input, [], 0);
  return [...found.values()];
}

/** `#/$defs/image` */
function definitionOf(schema: Input, ref: string): unknown {
  const name = /^#\/\$defs\/([^/~%]+)$/.exec(ref)?.[1];
  const definitions = schema['$defs'];
  return name !== undefined && isRecord(definitions) && Object.hasOwn(definitions, name)
    ? definitions[name]
    : undefined;
}

/**
 * The same input with its data URLs in one spelling, so that a schema's pattern need not know the others (RFC 2397 leaves
 * a choice of case, parameters and encoding). One that cannot be read stays as it is.
 */
export function withPlainDataUrls(schema: Input, input: Input): Input {
  const texts = new Map<readonly string[], string>();
  for (const { path, value } of mediaOf(schema, input)) {
    if (!isDataUrl(value) || isPlainDataUrl(value)) continue;
    const file = parseDataUrl(value);
    if (file !== undefined) texts.set(path, formatDataUrl(file));
  }
  return withTexts(input, texts);
}

/**
 * What a schema finds wrong with an input, said of data URLs where a field does not take them: a URL is rarely too long
 * for another reason.
 */
export function explainDataUrls(schema: Input, input: Input, problems: readonly Violation[]): readonly Violation[] {
  if (!problems.some(({ keyword }) => keyword === 'maxLength')) return problems;
  const refused = mediaOf(schema, input)
    .filter(({ value, hasPattern }) => isDataUrl(value) && !hasPattern)
    .map((field) => mediaViolation(field, 'url', NO_DATA_URLS));
  const byField = new Map(refused.map((each) => [each.field, each]));
  return problems.map((each) => byField.get(each.field) ?? each);
}

/** Whether a field accepts something of this type. @param accepts `image/*`, or one type. */
export function isAccepted(mimeType: string, accepts: readonly string[]): boolean {
  return accepts.some((each) => each === mimeType || each === '*/*' || each === `${mimeType.split('/')[0] ?? ''}/*`);
}

/** The same input with other strings at some paths. @param texts the strings by path. */
export function withTexts(input: Input, texts: ReadonlyMap<readonly string[], string>): Input {
  if (texts.size === 0) return input;
  const copy = structuredClone(input) as Record<string, unknown>;
  for (const [path, text] of texts) {
    let holder = copy;
    for (const name of path.slice(0, -1)) holder = holder[name] as Record<string, unknown>;
    holder[path.at(-1) ?? ''] = text;
  }
  return copy;
}

/** What the check of URLs needs. */
export interface MediaValidationDependencies {
  readonly database: Queryable;
  readonly urlSigner: UrlSigner;
  readonly egressPolicy: EgressPolicy;
}

/** An input as it is stored, the keys of the objects that it refers to, each once, and every problem with its media. */
export interface ValidatedMedia {
  readonly input: Input;
  readonly objectKeys: readonly string[];
  /** `invalid input: image_urls.0: …`, in the order of the schema. */
  readonly problems: readonly Violation[];
}

/**
 * Checks the media of an input that its schema accepts, and replaces our own URLs by references. Queries the database
 * only where there are such.
 */
export async function validateMedia(
  dependencies: MediaValidationDependencies,
  accountId: string,
  schema: Input,
  input: Input,
): Promise<ValidatedMedia> {
  const problems: Violation[] = [];
  const own: { readonly field: MediaField; readonly id: string }[] = [];
  const forged = forgedReference(input, []);
  if (forged !== undefined)
    problems.push(violation('invalid input', forged.join('.'), 'url', 'must not be a reference'));
  const fields = mediaOf(schema, input);
  for (const field of fields) {
    const address = classifyAddress(dependencies, field);
    if (address.kind === 'bad') problems.push(mediaViolation(field, 'url', address.problem));
    if (address.kind === 'own') own.push({ field, id: address.id });
  }
  const objects = await findInputObjects(
    dependencies.database,
    own.map(({ id }) => id),
  );
  const texts = new Map<readonly string[], string>();
  const objectKeys = new Set<string>();
  for (const { field, id } of own) {
    const object = objects.get(id);
    // Another account's object and one that never existed look the same to the caller.
    if (object?.accountId !== accountId || object.isGone) {
      problems.push(mediaViolation(field, 'url', 'not found'));
    } else if (!isAccepted(object.mimeType, field.accepts)) {
      const problem = `contentMediaType: got ${object.mimeType}, want ${field.accepts.join(' or ')}`;
      problems.push(mediaViolation(field, 'contentMediaType', problem));
    } else {
      texts.set(field.path, referenceTo(id));
      objectKeys.add(object.objectKey);
    }
  }
  return { input: withTexts(input, texts), objectKeys: [...objectKeys], problems };
}

type MediaAddress =
  | { readonly kind: 'own'; readonly id: string }
  | { readonly kind: 'good' }
  | { readonly kind: 'bad'; readonly problem: string };

function classifyAddress(
  { urlSigner, egressPolicy }: MediaValidationDependencies,
  { value, hasPattern }: MediaField,
): MediaAddress {
  if (isDataUrl(value)) {
    if (!hasPattern) return { kind: 'bad', problem: NO_DATA_URLS };
    const isReadable = isPlainDataUrl(value) || parseDataUrl(value) !== undefined;
    return isReadable ? { kind: 'good' } : { kind: 'bad', problem: 'not a data URL in base64' };
  }
  try {
    const id = ownObjectId(value, urlSigner);
    if (id !== undefined) return { kind: 'own', id };
  } catch (error) {
    if (error instanceof InvalidUrlError) return { kind: 'bad', problem: 'not a URL of this service' };
    if (error instanceof ExpiredUrlError) return { kind: 'bad', problem: expiredProblem(error.outputId) };
    throw error;
  }
  const checked = checkUrl(value, egressPolicy);
  return checked.ok ? { kind: 'good' } : { kind: 'bad', problem: checked.problem };
}

function expiredProblem(id: string): string {
  return `expired: read the ${isFileId(id) ? 'file' : 'task'} again for a fresh URL`;
}

function mediaViolation({ path }: MediaField, keyword: string, problem: string): Violation {
  return violation('invalid input', path.join('.'), keyword, problem);
}

/**
 * The path of a string in the form that only a stored input may have: presented to its reader, it would become a URL of
 * whatever object it names.
 */
function forgedReference(value: unknown, path: readonly string[]): readonly string[] | undefined {
  if (typeof value === 'string') return referencedId(value) === undefined ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = forgedReference(member, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
