/**
 * Proves that price rules fit the input schema of the same model: that everything the schema accepts has a price, that
 * the price is bounded, and that an omitted field costs what the schema says it then is. So a price is never calculated
 * from an unforeseen value, and a bad file is rejected when it is read.
 */
import { isRecord } from '../domain/json.ts';
import { decimalOf, formatDecimal, isAbove, largerOf, multiply } from '../domain/money.ts';
import type { Decimal } from '../domain/money.ts';
import type { ModelDefinition } from './definition.ts';
import { isByUsage, tierKey } from './price.ts';
import type { Pricing } from './price.ts';

/** The highest accepted price of a task. No task costs more, so a higher one is a mistake in the file. */
const MAX_TASK_USD: Decimal = { digits: 1_000_000n, scale: 0 };
const ONE: Decimal = { digits: 1n, scale: 0 };

type Rule = { readonly field: string; readonly default?: string | number | boolean };

/** What the proof reads of a field's schema; the rest of it does not matter here. */
interface FieldSchema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
}

/** A rule does not fit; the message says which and why. */
class PricingRuleError extends Error {}

/** @returns the first problem, with its position in the file; undefined if the rules fit. */
export function findPricingProblem({
  pricing,
  inputSchema,
}: Pick<ModelDefinition, 'pricing' | 'inputSchema'>): string | undefined {
  try {
    proveMembers(pricing);
    const quantity = proveQuantity(pricing, inputSchema);
    const unitUsd = proveTiers(pricing, inputSchema);
    const factor = proveFactors(pricing, inputSchema);
    const least = proveEnds(pricing);
    const most = largerOf(multiply(quantity, unitUsd, factor), least);
    if (isAbove(most, MAX_TASK_USD)) {
      return `pricing: a task could cost ${formatDecimal(most)} USD, above ${formatDecimal(MAX_TASK_USD)}`;
    }
    return undefined;
  } catch (error) {
    if (error instanceof PricingRuleError) return error.message;
    throw error;
  }
}

/**
 * The same for the rules of what work costs the operator.
 *
 * @returns the first problem, with its position in the file; undefined if the rules fit.
 */
export function findCostProblem({ routes, inputSchema }: ModelDefinition): string | undefined {
  for (const [route, { upstreams }] of Object.entries(routes)) {
    for (const [index, { cost }] of upstreams.entries()) {
      if (cost?.pricing === undefined) continue;
      const { pricing } = cost;
      const problem =
        (isByUsage(pricing) ? `pricing.unit: a cost by ${pricing.unit} is a rate of usage` : undefined) ??
        (pricing.lateCancel === undefined ? undefined : 'pricing.lateCancel: means nothing in a cost') ??
        (pricing.batchFactor === undefined ? undefined : 'pricing.batchFactor: means nothing in a cost') ??
        findPricingProblem({ pricing, inputSchema });
      if (problem !== undefined) return `routes.${route}.upstreams.${index}.cost.${problem}`;
    }
  }
  return undefined;
}

/** Whether the lines of batches would cost nothing, which is a mistake in the file. */
export function isZeroFactor(batchFactor: string | undefined): boolean {
  return batchFactor !== undefined && price(batchFactor).digits === 0n;
}

/** Which members a unit has, and which it must have. */
const MEMBERS = {
  image: { may: ['count'], must: [] },
  second: { may: ['count'], must: ['duration'] },
  character: { may: [], must: ['text'] },
  task: { may: [], must: [] },
  token: { may: ['count', 'duration', 'unreported'], must: ['hold'] },
  credit: { may: ['count', 'duration', 'unreported'], must: ['hold'] },
  input_second: { may: ['unreported'], must: ['hold'] },
} as const satisfies Record<Pricing['unit'], { may: readonly QuantityMember[]; must: readonly QuantityMember[] }>;
const QUANTITY_MEMBERS = ['count', 'duration', 'text', 'hold', 'unreported'] as const;
type QuantityMember = (typeof QUANTITY_MEMBERS)[number];

function proveMembers(pricing: Pricing): void {
  const may: readonly string[] = [...MEMBERS[pricing.unit].may, ...MEMBERS[pricing.unit].must];
  for (const member of MEMBERS[pricing.unit].must) {
    if (pricing[member] === undefined)
      throw new PricingRuleError(`pricing: a price by ${pricing.unit} needs ${member}`);
  }
  for (const member of QUANTITY_MEMBERS) {
    if (pricing[member] === undefined || may.includes(member)) continue;
    throw new PricingRuleError(`pricing.${member}: means nothing in a price by ${pricing.unit}`);
  }
}

/** @returns the largest quantity that an input can request. */
function proveQuantity(pricing: Pricing, schema: Schema): Decimal {
  const { count, duration, text } = pricing;
  const most = isByUsage(pricing) ? [proveHold(pricing, schema)] : [ONE];
  if (count !== undefined) most.push(proveNumber('pricing.count', count, schema));
  if (duration !== undefined) most.push(proveNumber('pricing.duration', duration, schema));
  if (text !== undefined) most.push(proveText('pricing.text', text, schema));
  return multiply(...most);
}

/** @returns the most tokens, credits or seconds of one output. */
function proveHold({ hold = {}, unreported }: Pricing, schema: Schema): Decimal {
  const path = 'pricing.hold';
  const { quantity, field, default: missing } = hold;
  if ((quantity === undefined) === (field === undefined)) {
    throw new PricingRuleError(`${path}: it needs either quantity or field`);
  }
  if (field !== undefined) {
    return proveNumber(path, { field, ...(missing === undefined ? {} : { default: missing }) }, schema);
  }
  if (missing !== undefined) throw new PricingRuleError(`${path}.default: only a field has one`);
  if (unreported !== undefined && unreported > (quantity ?? 0)) {
    throw new PricingRuleError(`pricing.unreported: ${unreported} is above the ${quantity} of hold`);
  }
  return decimalOf(quantity ?? 0) ?? ONE;
}

/** Minimum and rounding. @returns the lowest price that any task can have. */
function proveEnds({ minimum = '0', rounding, batchFactor }: Pricing): Decimal {
  if (isZeroFactor(batchFactor)) throw new PricingRuleError('pricing.batchFactor: it is 0');
  const step = price(rounding?.step ?? '0');
  if (rounding !== undefined && step.digits === 0n) throw new PricingRuleError('pricing.rounding.step: it is 0');
  return largerOf(price(minimum), step);
}

function proveNumber(path: string, rule: Rule, schema: Schema): Decimal {
  const field = fieldOf(path, rule, schema);
  const largest = field.enum === undefined ? largestOfRange(path, rule, field) : largestOfList(path, rule, field);
  if (rule.default === undefined) {
    if (!isRequired(schema, rule.field)) {
      throw new PricingRuleError(`${path}.default: ${rule.field} may be left out, so a default is needed`);
    }
    return largest;
  }
  const isPossible =
    field.enum === undefined
      ? Number(rule.default) >= (field.minimum ?? 0) && Number(rule.default) <= (field.maximum ?? 0)
      : field.enum.some((value) => Number(value) === rule.default);
  if (!isPossible) throw new PricingRuleError(`${path}.default: ${rule.default} is no value of ${rule.field}`);
  if (field.default !== undefined && Number(field.default) !== rule.default) {
    throw new PricingRuleError(
      `${path}.default: the inputSchema says ${JSON.stringify(field.default)}, not ${rule.default}`,
    );
  }
  return largest;
}

function largestOfRange(path: string, { field: name }: Rule, field: FieldSchema): Decimal {
  if (field.type !== 'integer')
    throw new PricingRuleError(`${path}.field: ${name} is neither an integer nor an enum of numbers`);
  const { minimum, maximum } = field;
  if (minimum === undefined || minimum < 0 || maximum === undefined) {
    throw new PricingRuleError(`${path}.field: ${name} needs a minimum of 0 or more and a maximum`);
  }
  return decimalOf(maximum) ?? ONE;
}

function largestOfList(path: string, { field: name }: Rule, field: FieldSchema): Decimal {
  const numbers = (field.enum ?? []).map((value) => {
    const amount = typeof value === 'string' || typeof value === 'number' ? decimalOf(value) : undefined;
    if (amount === undefined)
      throw new PricingRuleError(`${path}.field: ${name} can be ${JSON.stringify(value)}, no number`);
    return amount;
  });
  return numbers.reduce(largerOf);
}

function proveText(path: string, rule: Rule, schema: Schema): Decimal {
  const field = fieldOf(path, rule, schema);
  if (field.type !== 'string') throw new PricingRuleError(`${path}.field: ${rule.field} is not a string`);
  if (!isRequired(schema, rule.field)) throw new PricingRuleError(`${path}.field: ${rule.field} may be left out`);
  if (field.maxLength === undefined) throw new PricingRuleError(`${path}.field: ${rule.field} needs a maxLength`);
  return decimalOf(field.maxLength) ?? ONE;
}

/** @returns the highest price of a unit. */
function proveTiers({ by, usd }: Pricing, schema: Schema): Decimal {
  const plain = price(usd);
  if (by === undefined) return plain;
  const { field, fields = [], default: missing } = by;
  if ((field === undefined) === (by.fields === undefined)) {
    throw new PricingRuleError('pricing.by: it needs either field or fields');
  }
  if (field !== undefined && missing !== undefined) {
    throw new PricingRuleError('pricing.by.default: only fields have one; without the field, usd is the price');
  }
  const names = field === undefined ? fields : [field];
  const enums = names.map((name) => enumOf(name, schema));
  if (fields.length > 0 && enums.flatMap(({ values }) => values).some((value) => value.includes('/'))) {
    throw new PricingRuleError('pricing.by.fields: values with "/" are ambiguous in the keys of usd');
  }
  const keys = enums
    .map(({ values }) => values.map((value) => [value]))
    .reduce((combined, next) => combined.flatMap((left) => next.map((right) => [...left, ...right])))
    .map(tierKey);
  for (const key of keys) {
    if (!Object.hasOwn(by.usd, key)) throw new PricingRuleError(`pricing.by.usd: no price for ${JSON.stringify(key)}`);
  }
  for (const key of Object.keys(by.usd)) {
    if (!keys.includes(key)) {
      throw new PricingRuleError(`pricing.by.usd: ${names.join('/')} is never ${JSON.stringify(key)}`);
    }
  }
  const usual = field === undefined ? proveDefaults(fields, enums, missing, schema) : enums[0]?.default;
  const usualUsd = usual === undefined ? undefined : by.usd[usual];
  const canBeAbsent = names.some((name) => !isRequired(schema, name));
  if (usualUsd !== undefined && canBeAbsent && !isSame(price(usualUsd), plain)) {
    throw new PricingRuleError(
      `pricing.usd: without ${names.join(' and ')} it is ${JSON.stringify(usual)}, which costs ${usualUsd}`,
    );
  }
  return Object.values(by.usd).map(price).reduce(largerOf, plain);
}

interface EnumField {
  readonly values: readonly string[];
  readonly default: string | undefined;
}

function enumOf(name: string, schema: Schema): EnumField {
  const field = fieldOf('pricing.by', { field: name }, schema);
  if (field.type !== 'string' || field.enum === undefined) {
    throw new PricingRuleError(`pricing.by.field: ${name} is not an enum of strings`);
  }
  return {
    values: field.enum.map(String),
    default: typeof field.default === 'string' ? field.default : undefined,
  };
}

/** @returns the key of the price without both fields; undefined: none of them can be absent. */
function proveDefaults(
  fields: readonly string[],
  enums: readonly EnumField[],
  missing: readonly string[] | undefined,
  schema: Schema,
): string | undefined {
  if (missing === undefined) {
    const optional = fields.find((name) => !isRequired(schema, name));
    if (optional === undefined) return undefined;
    throw new PricingRuleError(`pricing.by.default: ${optional} may be left out, so the values need a default`);
  }
  for (const [index, value] of missing.entries()) {
    const known = enums[index];
    if (known?.values.includes(value) !== true) {
      throw new PricingRuleError(`pricing.by.default: ${JSON.stringify(value)} is no value of ${fields[index]}`);
    }
    if (known.default !== undefined && known.default !== value) {
      throw new PricingRuleError(
        `pricing.by.default: the inputSchema says ${JSON.stringify(known.default)}, not ${JSON.stringify(value)}`,
      );
    }
  }
  return tierKey(missing);
}

/** @returns the largest product of factors that could apply together. */
function proveFactors({ factors = [] }: Pricing, schema: Schema): Decimal {
  const largest = new Map<string, Decimal>();
  const seen = new Set<string>();
  for (const [index, factor] of factors.entries()) {
    const path = `pricing.factors.${index}`;
    const field = fieldOf(path, factor, schema);
    const pair = JSON.stringify([factor.field, factor.value]);
    if (seen.has(pair)) throw new PricingRuleError(`${path}: there is a factor for this value already`);
    seen.add(pair);
    proveValue(`${path}.value`, factor, factor.value, field);
    if (factor.default !== undefined) proveValue(`${path}.default`, factor, factor.default, field);
    const appliesByDefault = factor.default === factor.value;
    if (field.default !== undefined && appliesByDefault !== (field.default === factor.value)) {
      throw new PricingRuleError(`${path}.default: the inputSchema says ${JSON.stringify(field.default)}`);
    }
    largest.set(factor.field, largerOf(largest.get(factor.field) ?? ONE, price(factor.factor)));
  }
  return multiply(ONE, ...largest.values());
}

function proveValue(path: string, { field: name }: Rule, value: string | number | boolean, field: FieldSchema): void {
  const isPossible =
    field.enum === undefined
      ? (field.type === 'boolean' && typeof value === 'boolean') ||
        (field.type === 'integer' &&
          typeof value === 'number' &&
          value >= (field.minimum ?? -Infinity) &&
          value <= (field.maximum ?? Infinity))
      : field.enum.includes(value);
  if (!isPossible) throw new PricingRuleError(`${path}: ${name} is never ${JSON.stringify(value)}`);
}

type Schema = ModelDefinition['inputSchema'];

/** Rules use fields that the schema has directly: not behind a reference or in one branch of several. */
function fieldOf(path: string, { field }: Rule, schema: Schema): FieldSchema {
  const properties = schema['properties'];
  const found: unknown = isRecord(properties) && Object.hasOwn(properties, field) ? properties[field] : undefined;
  if (!isRecord(found)) {
    throw new PricingRuleError(`${path}.field: the inputSchema has no property ${JSON.stringify(field)}`);
  }
  return found;
}

function isRequired(schema: Schema, field: string): boolean {
  const required = schema['required'];
  return Array.isArray(required) && required.includes(field);
}

function isSame(a: Decimal, b: Decimal): boolean {
  return !isAbove(a, b) && !isAbove(b, a);
}

/** The form of prices and factors is checked before this. */
function price(text: string): Decimal {
  return decimalOf(text) ?? ONE;
}
