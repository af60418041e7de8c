/**
 * A value that a JSON Schema accepts: any schema of OpenAI's strict subset, and of others what uses the same keywords.
 * Values from the prompt are used if they fit, and others are made up.
 */
import type { Random } from '@darkroom/seeded-random/random';
import type { JsonSchema } from '../request.ts';
import { inventedName } from '../answers/prose.ts';
import type { FoundValues } from '../reading/found-values.ts';
import { makeOfFormat } from './formats.ts';
import { allowedNumber } from './numbers.ts';
import { PatternSteps, textFor } from './pattern.ts';
import { PromptValues, isAnswerName, isLength, isOfType } from './prompt-values.ts';
import { SchemaReader, isObject, leastOf, listOf, typesOf } from './schema-reader.ts';

export interface InstanceOptions {
  readonly found: FoundValues;
  readonly random: Random;
  /** `found`: members that may be absent or null are, unless the prompt has a value for them. */
  readonly fill: 'all' | 'found';
  /** A longer value would be cut anyway. */
  readonly maxTokens: number;
  /** The content of members called `answer`, `result` and so on. */
  readonly answer?: string;
  /** Values that are fixed, by the name of the member at the top level. */
  readonly settled?: Readonly<Record<string, unknown>>;
}

/** The current position in the value. */
interface Position {
  readonly name: string;
  readonly depth: number;
  /** The references on the path to this position: the second time, the smallest value is generated. */
  readonly references: ReadonlySet<string>;
  readonly isSmall: boolean;
}

const MAX_DEPTH = 48;
const SMALL_FROM_DEPTH = 12;
const USUAL_ITEMS = 2;
const CHARACTERS_PER_TOKEN = 128;
/** Once a value has this many characters for each token that it may have, the rest is as small as possible. */
const SMALL_FROM_CHARACTERS_PER_TOKEN = 1;
/** Quotes and separators around a value. */
const PER_VALUE = 4;
const NO_BRANCH: JsonSchema = {};

/**
 * @param reader of this schema, if several values are generated from it.
 * @returns a JSON value. A part without a finite value is cut off with null.
 * @throws {SchemaTooComplexError}
 */
export function instanceOf(
  schema: JsonSchema,
  options: InstanceOptions,
  reader: SchemaReader = new SchemaReader(schema),
): unknown {
  const position: Position = { name: '', depth: 0, references: new Set(), isSmall: false };
  return new Maker(reader, options).make(schema, position);
}

class Maker {
  readonly #reader: SchemaReader;
  readonly #prompt: PromptValues;
  readonly #options: InstanceOptions;
  readonly #patterns = new Map<string, string | undefined>();
  readonly #steps = new PatternSteps();
  /** How many more values, and how many more characters of text, are generated. */
  #left: number;
  #room: number;
  /** The approximate number of characters generated so far. */
  #length = 0;

  constructor(reader: SchemaReader, options: InstanceOptions) {
    this.#reader = reader;
    this.#prompt = new PromptValues(this.#reader, options.found, options.fill === 'all' ? options.answer : undefined);
    this.#options = options;
    this.#left = options.maxTokens * 2;
    this.#room = options.maxTokens * CHARACTERS_PER_TOKEN;
  }

  /** Generates a value, and deducts it from what may still be generated. */
  make(schema: unknown, parent: Position): unknown {
    this.#left -= 1;
    if (this.#left < 0 || this.#room < 0 || parent.depth > MAX_DEPTH || schema === false) return null;
    const value = this.#valueOf(schema, parent);
    this.#length += PER_VALUE;
    if (typeof value === 'string') {
      this.#room -= value.length;
      this.#length += value.length;
    }
    return value;
  }

  #valueOf(schema: unknown, parent: Position): unknown {
    const position = this.#inside(schema, parent);
    const resolved = this.#reader.resolve(schema);
    if (resolved['const'] !== undefined) return this.#takeValue(resolved['const']);
    const found = position.isSmall ? undefined : this.#prompt.valueFor(resolved, position.name);
    if (found !== undefined) return found;
    if (Array.isArray(resolved['enum'])) return this.#member(resolved);
    const branch = this.#branchOf(resolved, position);
    if (branch !== undefined) return this.make(branch, { ...position, depth: position.depth + 1 });
    return this.#ofType(this.#typeFor(resolved, position), resolved, position);
  }

  #inside(schema: unknown, position: Position): Position {
    const reference = isObject(schema) ? schema['$ref'] : undefined;
    const isLong = this.#length > this.#options.maxTokens * SMALL_FROM_CHARACTERS_PER_TOKEN;
    const isSmall = position.isSmall || position.depth >= SMALL_FROM_DEPTH || isLong;
    if (typeof reference !== 'string') return { ...position, isSmall };
    return {
      ...position,
      references: new Set([...position.references, reference]),
      isSmall: isSmall || position.references.has(reference),
    };
  }

  /** The branch of `anyOf` that is taken, together with its sibling keywords; undefined: there are none. */
  #branchOf(schema: JsonSchema, { isSmall }: Position): JsonSchema | undefined {
    const branches = listOf(schema['anyOf'] ?? schema['oneOf']);
    if (branches.length === 0) return undefined;
    this.#left -= branches.length / 64;
    const heights = branches.map((branch) => this.#reader.heightOf(branch));
    const isNull = (branch: unknown): boolean => isObject(branch) && branch['type'] === 'null';
    const least = heights.indexOf(leastOf(heights));
    const possible = heights.findIndex((height) => height < Infinity);
    const preferred = this.#mayBeNull(typesOf(this.#reader.resolve(branches[possible])))
      ? branches.findIndex(isNull)
      : -1;
    const branch = branches[isSmall || possible < 0 ? least : preferred < 0 ? possible : preferred];
    return this.#reader.branchOf(schema, isObject(branch) ? branch : NO_BRANCH);
  }

  #typeFor(schema: JsonSchema, { isSmall }: Position): string {
    const types = typesOf(schema);
    if (types.includes('null') && (isSmall || this.#mayBeNull(types))) return 'null';
    const simple = types.find((type) => type !== 'object' && type !== 'array');
    return (isSmall ? simple : undefined) ?? types[0] ?? 'string';
  }

  /** Whether null correctly states that the prompt has no value: a made-up value would not be better. */
  #mayBeNull(types: readonly string[]): boolean {
    return this.#options.fill === 'found' || !types.some((type) => type === 'object' || type === 'array');
  }

  #ofType(type: string, schema: JsonSchema, position: Position): unknown {
    switch (type) {
      case 'object':
        return this.#object(schema, position);
      case 'array':
        return this.#array(schema, position);
      case 'integer':
      case 'number':
        return allowedNumber(this.#options.random.integer(1, 90), schema, type === 'integer');
      case 'boolean':
        return false;
      case 'null':
        return null;
      default:
        return this.#string(schema, position);
    }
  }

  #object(schema: JsonSchema, position: Position): unknown {
    const { settled, fill } = this.#options;
    const properties = isObject(schema['properties']) ? schema['properties'] : {};
    const required = new Set(listOf(schema['required']).map(String));
    const names = [...new Set([...Object.keys(properties), ...required])];
    const entries: [string, unknown][] = [];
    for (const name of names) {
      this.#room -= name.length;
      this.#length += name.length;
      const inner: Position = { ...position, name, depth: position.depth + 1 };
      if (position.depth === 0 && settled !== undefined && Object.hasOwn(settled, name))
        entries.push([name, settled[name]]);
      else if (required.has(name) || (fill === 'all' && !position.isSmall))
        entries.push([name, this.make(properties[name], inner)]);
      else if (!position.isSmall) {
        const found = this.#prompt.valueFor(this.#reader.resolve(properties[name]), name);
        if (found !== undefined) entries.push([name, found]);
      }
      if (this.#left < 0 || this.#room < 0) break;
    }
    return Object.fromEntries(entries);
  }

  #array(schema: JsonSchema, position: Position): unknown {
    const { minItems, maxItems, items, prefixItems } = schema;
    const least = Math.max(typeof minItems === 'number' ? minItems : 0, listOf(prefixItems).length);
    const usual = position.isSmall || this.#options.fill === 'found' ? 0 : USUAL_ITEMS;
    const count = Math.min(
      Math.max(least, usual),
      typeof maxItems === 'number' ? maxItems : Infinity,
      this.#options.maxTokens,
    );
    const made: unknown[] = [];
    while (made.length < count && this.#left >= 0 && this.#room >= 0) {
      const item = listOf(prefixItems)[made.length] ?? items;
      made.push(this.make(item, { ...position, depth: position.depth + 1, isSmall: position.isSmall }));
    }
    return made;
  }

  #string(schema: JsonSchema, { name, isSmall }: Position): string {
    const { random, answer } = this.#options;
    const { format, pattern, minLength, maxLength } = schema;
    const most = typeof maxLength === 'number' ? Math.max(maxLength, 0) : Infinity;
    const least = Math.min(typeof minLength === 'number' ? minLength : 0, most, this.#room);
    const nameAsFormat = pattern === undefined ? name.toLowerCase() : '';
    const formatted = makeOfFormat(typeof format === 'string' ? format : nameAsFormat, random);
    if (formatted !== undefined && isLength(formatted, least, most)) return formatted;
    const matched = typeof pattern === 'string' ? this.#matching(pattern, least, most) : undefined;
    if (matched !== undefined) return matched;
    const isAnswer = answer !== undefined && isAnswerName(name) && !isSmall;
    let text = isAnswer ? answer.slice(0, this.#room) : inventedName(2, random);
    while (!isLength(text, least, Infinity)) text += ` ${text}`;
    return Array.from(text.slice(0, Math.min(most * 2, this.#room)))
      .slice(0, most)
      .join('');
  }

  /** Once for each pattern: it may take some time. */
  #matching(pattern: string, least: number, most: number): string | undefined {
    const key = `${least}/${most}/${pattern}`;
    if (!this.#patterns.has(key))
      this.#patterns.set(key, textFor(pattern, least, most, this.#options.random, this.#steps));
    return this.#patterns.get(key);
  }

  #member(schema: JsonSchema): unknown {
    const types = typesOf(schema);
    const members = listOf(schema['enum']);
    const fitting = members.find((member) => isOfType(member, types));
    return this.#takeValue(fitting === undefined ? (members[0] ?? null) : fitting);
  }

  /** A value given in the schema, of any size. */
  #takeValue(value: unknown): unknown {
    if (typeof value === 'object' && value !== null) this.#room -= JSON.stringify(value).length;
    return value;
  }
}
