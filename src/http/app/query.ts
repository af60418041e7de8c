/**
 * Reads a query string by its schema: values are converted to the types of the schema, and parameters that are unknown,
 * given twice or of the wrong form are reported in the contract's words (§1). At OpenAI's endpoints, unknown parameters
 * are ignored, as OpenAI does: clients add their version, or that of an API that they also speak.
 */
import type { TObject } from 'typebox';
import type { Violation } from '@darkroom/api/facts/violation';
import { openAiCodeOf } from '../../schema/openai-parse.ts';
import { invalidRequest, violated } from './errors.ts';

/** The maximum length of a parameter's name in a message, in characters. */
const MAX_QUOTED_NAME = 64;

interface Property {
  readonly type?: string;
  readonly items?: { readonly type?: string };
  /** Integers outside their range are clamped to it instead of being rejected (contract §3 `page`, `size`). */
  readonly 'x-clamped'?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * @param schema undefined: the route takes no parameters.
 * @param options.prefix parameters whose names begin with it are collected separately, by the rest of their names.
 * @param options.isOpenAi whether the endpoint is one of OpenAI's: an unknown parameter is ignored, an empty one is not
 *   given, and the list `include` may be written `include[]`.
 * @throws {RequestError} 400 naming the parameter.
 */
export function readQuery(
  search: URLSearchParams,
  schema: TObject | undefined,
  check: ((value: unknown) => Violation | undefined) | undefined,
  { prefix, isOpenAi = false }: { readonly prefix?: string | undefined; readonly isOpenAi?: boolean } = {},
): { readonly query: Record<string, unknown>; readonly prefixed: Record<string, string> } {
  const properties = (schema?.properties ?? {}) as Record<string, Property>;
  const query: Record<string, unknown> = {};
  const prefixed: Record<string, string> = Object.create(null) as Record<string, string>;
  const valuesByName = new Map<string, string[]>();
  for (const [name, value] of search) {
    if (isOpenAi && value === '') continue;
    const listName = (isOpenAi ? listNameOf(name, properties) : undefined) ?? name;
    valuesByName.set(listName, [...(valuesByName.get(listName) ?? []), value]);
  }
  for (const [name, values] of valuesByName) {
    const [value = ''] = values;
    if (prefix !== undefined && name.startsWith(prefix) && name.length > prefix.length) {
      if (values.length > 1) throw givenTwice(name);
      prefixed[name.slice(prefix.length)] = value;
      continue;
    }
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) {
      if (isOpenAi) continue;
      const param = cut(name);
      throw invalidRequest(`additional properties not allowed: ${param}`, {
        param,
        keyword: 'additionalProperties',
      });
    }
    if (property.type === 'array') {
      query[name] = values.flatMap((each) => each.split(',')).map((each) => converted(each, property.items ?? {}));
      continue;
    }
    if (values.length > 1) throw givenTwice(name);
    query[name] = converted(value, property);
  }
  const violation = check?.(query);
  if (violation !== undefined) {
    throw violated(violation, openAiCodeOf(violation));
  }
  return { query, prefixed };
}

/** @returns `include` for `include[]`; undefined for a name that is not a list in this format. */
function listNameOf(name: string, properties: Readonly<Record<string, Property>>): string | undefined {
  if (!name.endsWith('[]')) return undefined;
  const list = name.slice(0, -2);
  return Object.hasOwn(properties, list) && properties[list]?.type === 'array' ? list : undefined;
}

function converted(text: string, property: Property): unknown {
  if (property.type === 'integer') {
    if (!/^[+-]?\d{1,400}$/.test(text)) return text;
    return clamped(Number(text), property);
  }
  if (property.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

function clamped(value: number, property: Property): number {
  if (property['x-clamped'] !== true) return value;
  return Math.min(Math.max(value, property.minimum ?? -Infinity), property.maximum ?? Infinity);
}

function givenTwice(name: string): Error {
  const param = cut(name);
  return invalidRequest(`invalid request: ${param}: given more than once`, {
    param,
    keyword: 'maxItems',
    code: 'invalid_value',
  });
}

function cut(name: string): string {
  return name.length > MAX_QUOTED_NAME ? `${name.slice(0, MAX_QUOTED_NAME)}…` : name;
}
