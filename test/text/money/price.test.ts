import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { TextPricing } from '../../../src/catalogue/text-definition.ts';
import { actualCost, plausibleUsage, worstCaseCost } from '../../../src/text/money/price.ts';
import type { TokenUsage } from '../../../src/text/source.ts';

/** USD per million: the same number of micro-USD per token. */
const plain: TextPricing = { unit: 'token', inputUsd: '3', outputUsd: '15' };
const full: TextPricing = { ...plain, cachedInputUsd: '0.3', reasoningUsd: '20' };

const usage = (changes: Partial<TokenUsage> = {}): TokenUsage => ({
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  ...changes,
});

describe('the factor of a batch', () => {
  it('multiplies the sum before it is rounded up, once', () => {
    const bounds = { inputTokens: 101, maxOutputTokens: 10, choices: 1 };
    assert.equal(worstCaseCost(plain, bounds), 453n);
    assert.equal(worstCaseCost(plain, bounds, '0.5'), 227n);
    const used = usage({ inputTokens: 101, outputTokens: 1 });
    assert.equal(actualCost(plain, used, '0.5'), 159n);
    assert.equal(actualCost(plain, used, '1.0'), actualCost(plain, used));
  });
});

describe('the hold of a text call', () => {
  const held = (pricing: TextPricing, inputTokens: number, maxOutputTokens: number, choices = 1): bigint =>
    worstCaseCost(pricing, { inputTokens, maxOutputTokens, choices });

  it('covers its input once, and the maximum output of every choice', () => {
    assert.equal(held(plain, 100, 10), 450n);
    assert.equal(held(plain, 0, 1), 15n);
    assert.equal(held(plain, 1, 0), 3n);
    assert.equal(held(plain, 100, 10, 4), 900n);
  });

  it('uses the higher price of answer and reasoning, and never that of cached input', () => {
    assert.equal(held(full, 100, 10), 500n);
    assert.equal(held({ ...full, reasoningUsd: '1' }, 100, 10), 450n);
    assert.equal(held({ ...full, cachedInputUsd: '0' }, 100, 10), 500n);
  });

  it('is rounded up once, to the micro, and is zero for a free model', () => {
    const cheap: TextPricing = { unit: 'token', inputUsd: '0.15', outputUsd: '0.6' };

    assert.equal(held(cheap, 1, 0), 1n);
    // 0.45 and 0.6: rounded up once in total, not once for each.
    assert.equal(held(cheap, 3, 1), 2n);
    assert.equal(held(cheap, 4, 4), 3n);
    assert.equal(held({ unit: 'token', inputUsd: '0.000000000001', outputUsd: '0' }, 1, 9), 1n);
    assert.equal(held({ unit: 'token', inputUsd: '0', outputUsd: '0.000' }, 1_000_000, 1_000_000, 128), 0n);
  });

  it('is exact where floating point is not', () => {
    const most: TextPricing = { unit: 'token', inputUsd: '999999999.999999999999', outputUsd: '0.1' };

    // 99999999999999999.9999 and 0.3
    assert.equal(held(most, 100_000_000, 3), 100_000_000_000_000_001n);
  });
});

describe('the capture of a text call', () => {
  it('is each kind of token at its own price, or at that of the kind that it is part of', () => {
    const used = usage({ inputTokens: 100, cachedInputTokens: 40, outputTokens: 30, reasoningTokens: 20 });

    // 60 × 3, 40 × 0.3, 10 × 15, 20 × 20
    assert.equal(actualCost(full, used), 180n + 12n + 150n + 400n);
    assert.equal(actualCost(plain, used), 300n + 450n);
  });

  it('is rounded up once, over all kinds', () => {
    const cheap: TextPricing = { unit: 'token', inputUsd: '0.5', cachedInputUsd: '0.05', outputUsd: '0.5' };

    assert.equal(actualCost(cheap, usage({ inputTokens: 1, outputTokens: 1 })), 1n);
    assert.equal(actualCost(cheap, usage({ inputTokens: 2, cachedInputTokens: 1, outputTokens: 1 })), 2n);
    assert.equal(actualCost(cheap, usage()), 0n);
  });

  it('is the input alone when nothing was generated, which is what a dead process leaves', () => {
    assert.equal(actualCost(full, usage({ inputTokens: 7 })), 21n);
  });

  it('is at most the hold, for usage within the limits', () => {
    const price = fc.tuple(fc.nat({ max: 5_000 }), fc.nat({ max: 999_999 })).map(([whole, part]) => `${whole}.${part}`);
    const pricing = fc.record({
      inputUsd: price,
      outputUsd: price,
      reasoningUsd: price,
      discount: fc.nat({ max: 100 }),
    });
    const counts = fc.record({
      input: fc.nat({ max: 2_000_000 }),
      most: fc.nat({ max: 200_000 }),
      choices: fc.integer({ min: 1, max: 8 }),
      shares: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      said: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(pricing, counts, ({ discount, ...usd }, { input, most, choices, shares, said }) => {
        const whole: TextPricing = { unit: 'token', ...usd };
        // A cached token costs at most as much as an input token.
        const priced = discount > 50 ? { ...whole, cachedInputUsd: '0.000001' } : whole;
        const outputTokens = Math.floor(most * choices * said);
        const used = usage({
          inputTokens: input,
          cachedInputTokens: Math.floor(input * shares[0]),
          outputTokens,
          reasoningTokens: Math.floor(outputTokens * shares[1]),
        });
        fc.pre(discount <= 50 || Number(usd.inputUsd) > 0.000001);

        const held = worstCaseCost(priced, { inputTokens: input, maxOutputTokens: most, choices });

        assert.ok(actualCost(priced, used) <= held);
        assert.ok(actualCost(priced, usage({ inputTokens: input })) <= held);
      }),
    );
  });
});

describe('the reported usage of an upstream', () => {
  it('is used unchanged when it is plausible', () => {
    const used = usage({ inputTokens: 100, cachedInputTokens: 100, outputTokens: 30, reasoningTokens: 30 });

    assert.deepEqual(plausibleUsage(used), used);
    assert.deepEqual(plausibleUsage(usage()), usage());
  });

  it('is limited to plausible values when it is not', () => {
    const nonsense: readonly (readonly [Partial<TokenUsage>, Partial<TokenUsage>])[] = [
      [{ inputTokens: -5, outputTokens: -1 }, {}],
      [{ inputTokens: 1.2 }, { inputTokens: 2 }],
      [{ inputTokens: Number.NaN, outputTokens: Number.NaN }, {}],
      [
        { inputTokens: 3, cachedInputTokens: 9 },
        { inputTokens: 3, cachedInputTokens: 3 },
      ],
      [
        { outputTokens: 3, reasoningTokens: 9 },
        { outputTokens: 3, reasoningTokens: 3 },
      ],
      [{ reasoningTokens: 9 }, {}],
      [{ outputTokens: Number.POSITIVE_INFINITY }, { outputTokens: 2_147_483_647 }],
      [{ inputTokens: 1e300 }, { inputTokens: 2_147_483_647 }],
      [{ inputTokens: Number.NEGATIVE_INFINITY }, {}],
      [{ inputTokens: 3, cachedInputTokens: -2 }, { inputTokens: 3 }],
      // JSON can contain any value here.
      [{ inputTokens: null, outputTokens: '7', reasoningTokens: undefined } as unknown as TokenUsage, {}],
    ];
    for (const [said, taken] of nonsense) assert.deepEqual(plausibleUsage(usage(said)), usage(taken));
  });

  it('never leads to a negative price or an error', () => {
    const count = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(Number.NaN, -0, 1e308));
    const any = fc.record({
      inputTokens: count,
      cachedInputTokens: count,
      outputTokens: count,
      reasoningTokens: count,
    });
    fc.assert(
      fc.property(any, (used) => {
        const taken = plausibleUsage(used);

        assert.ok(actualCost(full, used) >= 0n);
        assert.equal(actualCost(full, used), actualCost(full, taken));
        for (const value of Object.values(taken)) assert.ok(Number.isInteger(value) && value >= 0);
      }),
    );
  });
});
