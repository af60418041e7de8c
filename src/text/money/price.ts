/**
 * What a text call costs (contract §7): tokens of each kind times the price of a million of them, added up exactly,
 * times the factor of the price for the line of a batch, and rounded up once, to the micro.
 */
import type { TextPricing } from '../../catalogue/text-definition.ts';
import { add, decimalOf, largerOf, multiply, roundUpToMicroUsd } from '../../domain/money.ts';
import type { Decimal } from '../../domain/money.ts';
import type { TokenUsage } from '../source.ts';

/** The largest count that is stored and billed (an integer of the database); no context is a tenth of it. */
const MAX_TOKENS = 2_147_483_647;
/** A price is for this many tokens, as a power of ten. */
const MILLION_DIGITS = 6;

/** The bounds of a call, before it is made. */
export interface TextBounds {
  /** The counted input of the request. */
  readonly inputTokens: number;
  /** The maximum number of tokens of each output, including reasoning. */
  readonly maxOutputTokens: number;
  /** The number of answers. */
  readonly choices: number;
}

/**
 * The worst case in micro-USD, which is held before the call: all input at its full price, and every token of output
 * at the higher of the prices of output and of reasoning.
 */
export function worstCaseCost(
  pricing: TextPricing,
  { inputTokens, maxOutputTokens, choices }: TextBounds,
  priceFactor = '1',
): bigint {
  const { input, output, reasoning } = pricesOf(pricing);
  const most = multiply(tokens(maxOutputTokens), tokens(choices));
  return cost(priceFactor, [tokens(inputTokens), input], [most, largerOf(output, reasoning)]);
}

/**
 * What was used, in micro-USD: cached input and reasoning at prices of their own, if the model has such prices. It may
 * be above the worst case if an upstream counts differently from us; a settlement never captures more than was held.
 */
export function actualCost(pricing: TextPricing, usage: TokenUsage, priceFactor = '1'): bigint {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = plausibleUsage(usage);
  const { input, cachedInput, output, reasoning } = pricesOf(pricing);
  return cost(
    priceFactor,
    [tokens(inputTokens - cachedInputTokens), input],
    [tokens(cachedInputTokens), cachedInput],
    [tokens(outputTokens - reasoningTokens), output],
    [tokens(reasoningTokens), reasoning],
  );
}

/**
 * Makes the counts that an upstream sent plausible: whole numbers that are not negative, and no more of a part than of
 * the whole. A value that is not a number counts as none.
 */
export function plausibleUsage(usage: TokenUsage): TokenUsage {
  const inputTokens = plausibleCount(usage.inputTokens);
  const outputTokens = plausibleCount(usage.outputTokens);
  return {
    inputTokens,
    cachedInputTokens: Math.min(plausibleCount(usage.cachedInputTokens), inputTokens),
    outputTokens,
    reasoningTokens: Math.min(plausibleCount(usage.reasoningTokens), outputTokens),
  };
}

/** A part of a token counts as a token, as money is rounded up too. */
function plausibleCount(count: number): number {
  if (typeof count !== 'number' || Number.isNaN(count)) return 0;
  return Math.min(Math.max(Math.ceil(count), 0), MAX_TOKENS);
}

function tokens(count: number): Decimal {
  return { digits: BigInt(plausibleCount(count)), scale: 0 };
}

/** @param parts how many, and what a million of them costs in USD. */
function cost(priceFactor: string, ...parts: readonly (readonly [Decimal, Decimal])[]): bigint {
  const sum = parts.map(([count, price]) => multiply(count, price)).reduce(add);
  const perMillion = priceFactor === '1' ? sum : multiply(sum, exact(priceFactor));
  return roundUpToMicroUsd({ digits: perMillion.digits, scale: perMillion.scale + MILLION_DIGITS });
}

/** USD for a million tokens of each kind. */
interface Prices {
  readonly input: Decimal;
  readonly cachedInput: Decimal;
  readonly output: Decimal;
  readonly reasoning: Decimal;
}

/** Parsed once: they are used three times a call. */
const PRICES = new WeakMap<TextPricing, Prices>();

function pricesOf(pricing: TextPricing): Prices {
  const known = PRICES.get(pricing);
  if (known !== undefined) return known;
  const { inputUsd, cachedInputUsd = inputUsd, outputUsd, reasoningUsd = outputUsd } = pricing;
  const prices = {
    input: exact(inputUsd),
    cachedInput: exact(cachedInputUsd),
    output: exact(outputUsd),
    reasoning: exact(reasoningUsd),
  };
  PRICES.set(pricing, prices);
  return prices;
}

function exact(usd: string): Decimal {
  const price = decimalOf(usd);
  if (price === undefined) throw new Error('a price in a loaded definition is no decimal number');
  return price;
}
