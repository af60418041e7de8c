/**
 * The table of spec §2.5 (spec-fields.json) compared with the embedded models: which of them follow an observed
 * value, range, set or maximum, determined by what their schemas accept and reject and not by how they are written.
 */
import { readFileSync } from 'node:fs';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { withDefaults } from '../../src/catalogue/input-defaults.ts';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { worstCaseCost } from '../../src/catalogue/price.ts';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

/** One observation about a field; exactly one of the members after the first is set. */
export interface Cell {
  readonly field: string;
  /** A value that some models accept. */
  readonly value?: string;
  /** All observed values that a model accepts. */
  readonly set?: readonly string[];
  /** The maximum number of entries of a list. */
  readonly maximum?: number;
  /** Minimum and maximum number of entries of a required list. */
  readonly requiredEntries?: readonly [number, number];
  /** Minimum and maximum integer. */
  readonly range?: readonly [number, number];
  /** Numbers as strings. */
  readonly textEnum?: readonly string[];
  /** A rule in words, one of those in `RULES`. */
  readonly is?: string;
  /** Only models of this modality. */
  readonly modality?: string;
  /** Only models that have this field too. */
  readonly with?: string;
  /** Tests that show its effect on the output; default: those of the field. */
  readonly honouredBy?: readonly string[];
}

/** One row of the table. */
export interface FieldRow {
  readonly fields: readonly string[];
  readonly type: string;
  readonly rules: string;
  readonly cells: readonly Cell[];
}

export interface SpecFields {
  readonly rows: readonly FieldRow[];
  /** Fields of ours that the table does not have. */
  readonly additive: readonly { readonly field: string; readonly models: readonly string[]; readonly why: string }[];
  /** Tests, `file › name`, that show the effect of a field on the output. */
  readonly honouredBy: Readonly<Record<string, readonly string[]>>;
}

export const SPEC_FIELDS = JSON.parse(
  readFileSync(packageFile('test/catalogue/spec-fields.json'), 'utf8'),
) as SpecFields;

/** An embedded model, and how it validates an input. */
export interface EmbeddedModel {
  readonly definition: ModelDefinition;
  /** The names of its fields. */
  readonly fields: readonly string[];
  /** Validates the model's first example with these fields changed; `undefined` omits one. Undefined: valid. */
  problemOf(changes: Readonly<Record<string, unknown>>): string | undefined;
}

export async function embeddedModels(): Promise<readonly EmbeddedModel[]> {
  const definitions = (await loadModels([packageFile('models')], PROTOCOLS))
    .filter(isMediaModel)
    // The specification has no transcriptions: the model of that is for trying the endpoints.
    .filter(({ modality }) => modality !== 'transcription');
  const catalogue = createCatalogue(definitions);
  return definitions.map((definition) => ({
    definition,
    fields: Object.keys(definition.inputSchema['properties'] as object),
    problemOf: (changes) =>
      catalogue
        .resolve(definition.name, undefined)
        .checkInput(JSON.parse(JSON.stringify({ ...definition.examples[0], ...changes })))?.message,
  }));
}

/** The models that follow a cell, and those that reject what it says, by name. */
export interface CellResult {
  readonly acceptedBy: readonly string[];
  readonly rejectedBy: readonly string[];
}

export function evaluateCell(cell: Cell, models: readonly EmbeddedModel[]): CellResult {
  const { field, modality } = cell;
  const considered = models.filter(({ definition }) => modality === undefined || definition.modality === modality);
  const names = (some: readonly EmbeddedModel[]): readonly string[] => some.map(({ definition }) => definition.name);
  const accepting = considered.filter((model) => followsCell(cell, model));
  const rejecting =
    cell.value === undefined
      ? models.filter((model) => !model.fields.includes(field))
      : models.filter((model) => model.problemOf({ [field]: cell.value }) !== undefined);
  if (cell.is?.endsWith('on one model') === true && accepting.length > 1) return { acceptedBy: [], rejectedBy: [] };
  if (cell.is === 'rejected by most' && rejecting.length * 2 <= models.length)
    return { acceptedBy: [], rejectedBy: [] };
  if (cell.is === 'usually required' && accepting.length * 2 <= models.length)
    return { acceptedBy: [], rejectedBy: [] };
  return { acceptedBy: names(accepting), rejectedBy: names(rejecting) };
}

/** The text of a cell. */
export function describeCell({ value, set, maximum, requiredEntries, range, textEnum, is = '' }: Cell): string {
  if (value !== undefined) return value;
  if (set !== undefined) return set.join('/');
  if (maximum !== undefined) return `at most ${maximum}`;
  if (requiredEntries !== undefined) return `${requiredEntries.join(' to ')}, required`;
  if (range !== undefined) return range.join('-');
  if (textEnum !== undefined) return textEnum.map((text) => JSON.stringify(text)).join('/');
  return is;
}

const URL = 'https://example.com/file';
const list = (length: number): readonly string[] => Array.from({ length }, (_, index) => `${URL}${index}`);

function followsCell(cell: Cell, model: EmbeddedModel): boolean {
  const { field } = cell;
  const takes = (value: unknown): boolean => model.problemOf({ [field]: value }) === undefined;
  const isRequired = model.problemOf({ [field]: undefined }) === `invalid input: missing property: ${field}`;
  if (cell.is === 'rejected') return model.problemOf({ [field]: 1 }) === `additional properties not allowed: ${field}`;
  if (!model.fields.includes(field) || (cell.with !== undefined && !model.fields.includes(cell.with))) return false;

  if (cell.value !== undefined) return takes(cell.value) && !takes(`${cell.value} `) && !takes(1);
  if (cell.set !== undefined) return observedValues(field).filter(takes).join() === sorted(field, cell.set).join();
  if (cell.maximum !== undefined) return takes(list(cell.maximum)) && !takes(list(cell.maximum + 1));
  if (cell.requiredEntries !== undefined) {
    const [least, most] = cell.requiredEntries;
    return isRequired && takes(list(least)) && takes(list(most)) && !takes(list(least - 1)) && !takes(list(most + 1));
  }
  if (cell.range !== undefined) {
    const [least, most] = cell.range;
    const outside = [least - 1, most + 1, least + 0.5, String(least)];
    return takes(least) && takes(most) && !outside.some(takes);
  }
  if (cell.textEnum !== undefined) {
    return cell.textEnum.every((text) => takes(text) && !takes(Number(text))) && !takes(`0${cell.textEnum[0] ?? ''}`);
  }
  const rule = RULES[cell.is ?? ''];
  if (rule === undefined) throw new Error(`no rule is called ${cell.is}`);
  return rule({ takes, isRequired, model, field });
}

/** All values that the table has of a field, in its order. */
export function observedValues(field: string): readonly string[] {
  const cells = SPEC_FIELDS.rows.flatMap(({ cells }) => cells).filter((cell) => cell.field === field);
  return [...new Set(cells.flatMap(({ value, set = [] }) => [...(value === undefined ? [] : [value]), ...set]))];
}

function sorted(field: string, values: readonly string[]): readonly string[] {
  return observedValues(field).filter((value) => values.includes(value));
}

interface FieldRule {
  readonly takes: (value: unknown) => boolean;
  readonly isRequired: boolean;
  readonly model: EmbeddedModel;
  readonly field: string;
}

const isOptional = ({ isRequired, model, field }: FieldRule): boolean =>
  !isRequired && model.problemOf({ [field]: undefined }) === undefined;
const isBoolean = ({ takes }: FieldRule): boolean => takes(true) && takes(false) && !['true', 1, null].some(takes);
const schemaOf = ({ model, field }: FieldRule): Readonly<Record<string, unknown>> =>
  (model.definition.inputSchema['properties'] as Record<string, Record<string, unknown>>)[field] ?? {};

const RULES: Readonly<Record<string, (asked: FieldRule) => boolean>> = {
  'usually required': ({ takes, isRequired }) => isRequired && takes('a') && !takes('') && !takes(['a']),
  required: ({ takes, isRequired }) => isRequired && !takes('') && !takes(1),
  single: ({ takes }) => takes(URL) && !takes([URL]) && !takes(''),
  'data URL on one model': ({ takes }) =>
    ['png', 'jpeg', 'webp'].every((kind) => takes(`data:image/${kind};base64,AAAA`)) &&
    !['data:image/svg+xml;base64,AAAA', 'data:text/html,x', 'file:///x'].some(takes),
  'optional integer': (asked) => isOptional(asked) && asked.takes(0) && !asked.takes('0') && !asked.takes(0.5),
  'rejected by most': isOptional,
  'fixed enum': (asked) => {
    const values = (schemaOf(asked)['enum'] ?? []) as readonly unknown[];
    return values.length > 1 && values.every(asked.takes) && !asked.takes('other') && !asked.takes(1);
  },
  range: (asked) => {
    const { minimum, maximum } = schemaOf(asked) as { minimum: number; maximum: number };
    const isKept = asked.takes(minimum) && asked.takes(maximum) && !asked.takes(minimum - 1);
    return isOptional(asked) && isKept && !asked.takes(maximum + 1) && !asked.takes(String(minimum));
  },
  'required list': ({ takes, isRequired }) => isRequired && takes(list(1)) && !takes([]) && !takes(URL),
  'optional list': (asked) => isOptional(asked) && asked.takes(list(1)) && !asked.takes(URL),
  'optional boolean': (asked) => isOptional(asked) && isBoolean(asked),
  'boolean on one model': (asked) => isOptional(asked) && isBoolean(asked),
  cheaper: ({ model: { definition }, field }) => {
    const [example = {}] = definition.examples;
    const { [field]: _, ...plain } = example;
    const cost = (input: Readonly<Record<string, unknown>>): bigint => worstCaseCost(definition.pricing, input);
    return cost({ ...plain, [field]: true }) < cost(plain) && cost({ ...plain, [field]: false }) === cost(plain);
  },
};

/** The values that a model accepts for a field with an enum. */
export function enumOf({ definition }: EmbeddedModel, field: string): readonly unknown[] {
  const properties = definition.inputSchema['properties'] as Record<string, { readonly enum?: readonly unknown[] }>;
  return properties[field]?.enum ?? [];
}

/** Whether every default in a model's schema is a value that the schema accepts. */
export function acceptsItsDefaults({ definition }: EmbeddedModel): boolean {
  const check = compileCheck(definition.inputSchema, 'invalid input');
  return definition.examples.every((example) => check(withDefaults(definition.inputSchema, example)) === undefined);
}
