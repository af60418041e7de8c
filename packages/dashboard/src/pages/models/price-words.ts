/**
 * A price in words, from the rules by which it is computed (src/catalogue/price.ts). Nothing is rounded: amounts
 * remain decimal strings.
 */
import type { WireModel } from '@darkroom/api/tasks/model';
import { formatUsd } from '../../components/money.ts';
import { texts } from '../../texts/models.ts';

type Pricing = WireModel['pricing'];
type TextPricing = Extract<Pricing, { inputUsd: string }>;
type MediaPricing = Exclude<Pricing, TextPricing>;

export interface PriceWords {
  /** One line: the lowest price of a unit. */
  readonly short: string;
  /** Everything that the price depends on, one line each. */
  readonly lines: readonly string[];
}

/** A price per thousand characters is easier to imagine than one per character. By powers of ten. */
const SHIFTS: Partial<Record<MediaPricing['unit'], number>> = { character: 3, token: 6 };

export function priceWords(pricing: Pricing): PriceWords {
  return isTextPricing(pricing) ? tokenWords(pricing) : mediaWords(pricing);
}

/** Whether input and output tokens have prices of their own: media priced by the token have one for all. */
export function isTextPricing(pricing: Pricing): pricing is TextPricing {
  return 'inputUsd' in pricing;
}

function tokenWords({ inputUsd, cachedInputUsd, outputUsd, reasoningUsd, batchFactor }: TextPricing): PriceWords {
  const { perTokens } = texts.price;
  return {
    short: texts.price.tokensShort(formatUsd(inputUsd), formatUsd(outputUsd)),
    lines: [
      perTokens(formatUsd(inputUsd), 'input'),
      ...(cachedInputUsd === undefined ? [] : [perTokens(formatUsd(cachedInputUsd), 'cached')]),
      perTokens(formatUsd(outputUsd), 'output'),
      ...(reasoningUsd === undefined ? [] : [perTokens(formatUsd(reasoningUsd), 'reasoning')]),
      ...batchWords(batchFactor),
    ],
  };
}

function mediaWords(pricing: MediaPricing): PriceWords {
  const { unit, usd, by, factors = [] } = pricing;
  const shift = SHIFTS[unit];
  const amount = (price: string): string => formatUsd(shift === undefined ? price : shifted(price, shift));
  const perUnit = (price: string): string => texts.price.per[unit](amount(price));
  const listed = by === undefined ? [] : Object.entries(by.usd);
  const prices = listed.length === 0 ? [usd] : listed.map(([, price]) => price);
  const least = prices.toSorted(compareDecimals)[0] ?? usd;
  const isVaried = new Set(prices).size > 1 || factors.length > 0;
  return {
    short: isVaried ? texts.price.from(perUnit(least)) : perUnit(least),
    lines: [
      ...(listed.length === 0
        ? [perUnit(usd)]
        : listed.map(([value, price]) =>
            texts.price.where(perUnit(price), by?.fields?.join(' / ') ?? by?.field ?? '', value.replaceAll('/', ' / ')),
          )),
      ...factors.map(({ field, value, factor }) => texts.price.factor(factor, field, String(value))),
      ...batchWords(pricing.batchFactor),
      ...(pricing.count === undefined || pricing.hold !== undefined
        ? []
        : [texts.price.images(pricing.count.field, pricing.count.default ?? 1)]),
      ...(pricing.duration === undefined || pricing.hold !== undefined
        ? []
        : [texts.price.seconds(pricing.duration.field, pricing.duration.default)]),
      ...(pricing.text === undefined ? [] : [texts.price.counted(pricing.text.field)]),
      ...holdWords(pricing),
      ...(pricing.minimum === undefined ? [] : [texts.price.minimum(formatUsd(pricing.minimum))]),
      ...(pricing.rounding === undefined ? [] : [texts.price.rounding(formatUsd(pricing.rounding.step))]),
    ],
  };
}

function batchWords(factor: string | undefined): readonly string[] {
  return factor === undefined ? [] : [texts.price.batches(factor)];
}

/** The most that is charged for, and what without a report. */
function holdWords({ unit, hold, unreported }: MediaPricing): readonly string[] {
  if (hold === undefined || !isCounted(unit)) return [];
  const quantity = (value: number): string => texts.price.quantities[unit](value);
  const { atMost, atMostOf, inputAtMost, inputAtMostOf } = texts.price;
  // The seconds of an input do not depend on the number of outputs.
  const [fixed, chosen] = unit === 'input_second' ? [inputAtMost, inputAtMostOf] : [atMost, atMostOf];
  const most =
    hold.field === undefined
      ? fixed(quantity(hold.quantity ?? 0))
      : chosen(hold.field, hold.default === undefined ? undefined : quantity(hold.default));
  return [most, ...(unreported === undefined ? [] : [texts.price.unreported(quantity(unreported))])];
}

type CountedUnit = keyof typeof texts.price.quantities;

function isCounted(unit: MediaPricing['unit']): unit is CountedUnit {
  return Object.hasOwn(texts.price.quantities, unit);
}

/** A decimal string times a power of ten. @param exponent of ten. */
function shifted(amount: string, exponent: number): string {
  const [whole = '0', fraction = ''] = amount.split('.');
  const padded = fraction.padEnd(exponent, '0');
  const digits = (whole + padded.slice(0, exponent)).replace(/^0+(?=\d)/, '');
  const rest = padded.slice(exponent).replace(/0+$/, '');
  return rest === '' ? digits : `${digits}.${rest}`;
}

function compareDecimals(left: string, right: string): number {
  return Number(left) - Number(right);
}
