/** The exact cost of tokens, computed as by the service: per million of each kind, rounded up to the micro-dollar. */
import type { Model } from '../../../api/models.ts';
import type { Usage } from '../../../api/text.ts';
import { amountOf } from '../../../components/amounts.ts';

type TextPricing = Extract<Model['pricing'], { inputUsd: string }>;

/** Prices have up to twelve decimals. */
const DECIMALS = 12;
/** A price per million tokens with twelve decimals, times the tokens, is this many times a micro-dollar. */
const PER_MICRO = 10n ** BigInt(DECIMALS);

/** @returns micro-USD. */
export function textCostMicros(pricing: TextPricing, usage: Usage): bigint {
  const { inputUsd, cachedInputUsd = inputUsd, outputUsd, reasoningUsd = outputUsd } = pricing;
  const parts: readonly (readonly [tokens: number, usd: string])[] = [
    [usage.inputTokens - usage.cachedTokens, inputUsd],
    [usage.cachedTokens, cachedInputUsd],
    [usage.outputTokens - usage.reasoningTokens, outputUsd],
    [usage.reasoningTokens, reasoningUsd],
  ];
  const sum = parts.reduce((total, [tokens, usd]) => total + BigInt(Math.max(0, tokens)) * digitsOf(usd), 0n);
  return (sum + PER_MICRO - 1n) / PER_MICRO;
}

/** Decimal USD. */
export function textCost(pricing: TextPricing, usages: readonly Usage[]): string {
  return amountOf(usages.reduce((total, usage) => total + textCostMicros(pricing, usage), 0n));
}

function digitsOf(usd: string): bigint {
  const [whole = '0', fraction = ''] = usd.split('.');
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
}
