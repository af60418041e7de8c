import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { actualCost, finishedCost, worstCaseCost } from '../../src/catalogue/price.ts';
import type { DeliveredOutput, Pricing } from '../../src/catalogue/price.ts';
import { definition } from './definitions.ts';

const image = { type: 'image' };
const images = (count: number): DeliveredOutput[] => Array.from({ length: count }, () => image);
const video = (durationSeconds: number): DeliveredOutput => ({ type: 'video', durationSeconds });

describe('the price of an image', () => {
  const { pricing } = definition();

  it('is that of one unit, by the value of the field that determines the price', () => {
    assert.equal(worstCaseCost(pricing, { prompt: 'a' }), 10_000n);
    assert.equal(worstCaseCost(pricing, { prompt: 'a', resolution: '1k' }), 10_000n);
    assert.equal(worstCaseCost(pricing, { prompt: 'a', resolution: '2k' }), 25_000n);
    assert.equal(worstCaseCost({ unit: 'image', usd: '0' }, {}), 0n);
  });

  it('is the base price for every value without a price of its own', () => {
    const free = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'toString', 'valueOf'),
      fc.string(),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(free, (resolution) => {
        fc.pre(resolution !== '2k');
        assert.equal(worstCaseCost(pricing, { resolution }), 10_000n);
      }),
    );
  });

  it('depends on own fields only, whatever an object inherits', () => {
    const inherited: Pricing = { unit: 'image', usd: '0.01', factors: [{ field: 'draft', value: true, factor: '0' }] };
    const input = Object.create({ draft: true }) as Record<string, unknown>;

    assert.equal(worstCaseCost(inherited, input), 10_000n);
    assert.equal(worstCaseCost({ unit: 'image', usd: '0.01', by: { field: 'constructor', usd: {} } }, {}), 10_000n);
  });

  // Proves C3-15.
  it('is held for the number requested, and captured for the number delivered', () => {
    const several: Pricing = { ...pricing, count: { field: 'n', default: 2 } };
    const input = { n: 3, resolution: '2k' };

    assert.equal(worstCaseCost(several, input), 75_000n);
    assert.equal(worstCaseCost(several, {}), 20_000n);
    assert.equal(actualCost(several, input, images(2)), 50_000n);
    assert.equal(actualCost(several, input, images(5)), 75_000n);
    assert.equal(actualCost(several, input, []), 0n);
  });

  it('of an older definition is computed as before: one image, by its tier', () => {
    const older: Pricing = { unit: 'image', usd: '0.01', by: { field: 'resolution', usd: { '2k': '0.025' } } };

    assert.equal(actualCost(older, { resolution: '1k' }, images(1)), 10_000n);
    assert.equal(actualCost(older, { resolution: '2k' }, images(4)), 25_000n);
  });
});

describe('the price of a video', () => {
  const pricing: Pricing = {
    unit: 'second',
    usd: '0.05',
    by: { field: 'resolution', usd: { '720p': '0.05', '1080p': '0.1' } },
    duration: { field: 'duration', default: 6 },
    factors: [
      { field: 'draft', value: true, factor: '0.25' },
      { field: 'generate_audio', value: true, factor: '1.5', default: true },
    ],
  };

  it('is held for the requested seconds, given as a number, as a string or not at all', () => {
    const silent = { generate_audio: false };

    assert.equal(worstCaseCost(pricing, { ...silent, duration: 10 }), 500_000n);
    assert.equal(worstCaseCost(pricing, { ...silent, duration: '10' }), 500_000n);
    assert.equal(worstCaseCost(pricing, silent), 300_000n);
    assert.equal(worstCaseCost(pricing, { ...silent, resolution: '1080p' }), 600_000n);
  });

  it('has every applicable factor applied, including those of defaults', () => {
    assert.equal(worstCaseCost(pricing, { duration: 10 }), 750_000n);
    assert.equal(worstCaseCost(pricing, { duration: 10, draft: true, generate_audio: false }), 125_000n);
    assert.equal(worstCaseCost(pricing, { duration: 10, draft: true, resolution: '1080p' }), 375_000n);
    assert.equal(worstCaseCost(pricing, { duration: 10, draft: 'true', generate_audio: false }), 500_000n);
  });

  it('is captured for the seconds delivered, and at most for those requested', () => {
    const input = { duration: 10, generate_audio: false };
    const frame = { type: 'first_frame', durationSeconds: 3 };

    assert.equal(actualCost(pricing, input, [video(10.04)]), 500_000n);
    assert.equal(actualCost(pricing, input, [video(4.96), frame, { type: 'thumbnail' }]), 248_000n);
    assert.equal(actualCost(pricing, input, [video(0.0000001)]), 1n);
    assert.equal(actualCost(pricing, input, [frame]), 0n);
  });

  it('is that of the requested duration when the file does not report its own', () => {
    const input = { duration: 10, generate_audio: false };
    for (const output of [{ type: 'video' }, video(NaN), video(Infinity), video(-1)]) {
      assert.equal(actualCost(pricing, input, [output]), 500_000n);
    }
  });

  it('is the least that the price allows when neither file nor client says how long it is', () => {
    const input = { generate_audio: false };

    assert.equal(actualCost(pricing, input, [{ type: 'video' }]), 0n);
    assert.equal(actualCost({ ...pricing, minimum: '0.02' }, input, [{ type: 'video' }]), 20_000n);
    assert.equal(actualCost(pricing, input, [{ type: 'video' }, video(2)]), 100_000n);
    assert.equal(actualCost(pricing, { ...input, duration: 4 }, [{ type: 'video' }]), 200_000n);
    assert.equal(finishedCost(pricing, input, 1), 300_000n);
  });

  it('counts every one of several', () => {
    const several: Pricing = { ...pricing, count: { field: 'n', default: 1 } };
    const input = { n: 3, duration: 10, generate_audio: false };

    assert.equal(worstCaseCost(several, input), 1_500_000n);
    assert.equal(actualCost(several, input, [video(10), video(5)]), 750_000n);
    assert.equal(actualCost(several, input, [video(10), { type: 'video' }]), 1_000_000n);
  });
});

describe('the price of a text', () => {
  const pricing: Pricing = { unit: 'character', usd: '0.0000075', text: { field: 'text' } };

  it('is by Unicode code points, and rounded once, at the end', () => {
    assert.equal(worstCaseCost(pricing, { text: '' }), 0n);
    assert.equal(worstCaseCost(pricing, { text: 'a' }), 8n);
    assert.equal(worstCaseCost(pricing, { text: 'ab' }), 15n);
    assert.equal(worstCaseCost(pricing, { text: '🦊ö' }), 15n);
    assert.equal(worstCaseCost(pricing, { text: 'x'.repeat(1_000) }), 7_500n);
  });

  it('is captured in full for any output, and not without one', () => {
    assert.equal(actualCost(pricing, { text: 'ab' }, [{ type: 'audio', durationSeconds: 0.2 }]), 15n);
    assert.equal(actualCost(pricing, { text: 'ab' }, []), 0n);
  });
});

describe('a flat price', () => {
  it('is the same whatever the task produces', () => {
    const pricing: Pricing = { unit: 'task', usd: '0.2', factors: [{ field: 'steps', value: 4, factor: '0.5' }] };

    assert.equal(worstCaseCost(pricing, {}), 200_000n);
    assert.equal(worstCaseCost(pricing, { steps: 4 }), 100_000n);
    assert.equal(actualCost(pricing, {}, [video(3), video(4), image]), 200_000n);
    assert.equal(actualCost(pricing, {}, []), 0n);
  });
});

/** Price rules of every kind, each with an input that a matching schema would accept. */
const decimalText = (digits: number) =>
  fc
    .tuple(fc.nat({ max: 500 }), fc.bigInt({ min: 0n, max: 10n ** BigInt(digits) - 1n }))
    .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(digits, '0')}`);
const rules = fc
  .record({
    unit: fc.constantFrom('image' as const, 'second' as const, 'character' as const, 'task' as const),
    usd: decimalText(12),
    tiers: fc.record({ low: decimalText(12), high: decimalText(6) }),
    draft: decimalText(6),
    loud: decimalText(6),
  })
  .map(({ unit, usd, tiers, draft, loud }): Pricing => ({
    unit,
    usd,
    by: { field: 'quality', usd: tiers },
    ...(unit === 'image' || unit === 'second' ? { count: { field: 'n', default: 1 } } : {}),
    ...(unit === 'second' ? { duration: { field: 'duration', default: 5 } } : {}),
    ...(unit === 'character' ? { text: { field: 'text' } } : {}),
    factors: [
      { field: 'draft', value: true, factor: draft },
      { field: 'level', value: 'loud', factor: loud, default: 'loud' },
    ],
  }));
const inputs = fc.record(
  {
    quality: fc.constantFrom('low', 'high'),
    n: fc.nat({ max: 50 }),
    duration: fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 300 }).map(String)),
    text: fc.string({ unit: 'binary', maxLength: 300 }),
    draft: fc.boolean(),
    level: fc.constantFrom('loud', 'soft'),
  },
  { requiredKeys: ['text'] },
);
const outputs = fc.array(
  fc.record(
    {
      type: fc.constantFrom('image', 'video', 'audio', 'thumbnail', 'first_frame', 'hologram'),
      durationSeconds: fc.oneof(fc.double({ min: 0, max: 400, noNaN: true }), fc.constantFrom(NaN, -1, Infinity)),
    },
    { requiredKeys: ['type'] },
  ),
  { maxLength: 60 },
);

/** The type of these inputs. */
interface PricedInput {
  readonly text: string;
  readonly quality?: 'low' | 'high';
  readonly n?: number;
  readonly duration?: number | string;
  readonly draft?: boolean;
  readonly level?: 'loud' | 'soft';
}

/** The same in exact fractions, computed in the simplest way. */
function exactMicroUsd(pricing: Pricing, input: PricedInput): bigint {
  let numerator = 10n ** 6n;
  let denominator = 1n;
  const times = (text: string): void => {
    const [whole = '', fraction = ''] = text.split('.');
    numerator *= BigInt(whole + fraction);
    denominator *= 10n ** BigInt(fraction.length);
  };
  times(pricing.by?.usd[String(input.quality)] ?? pricing.usd);
  if (pricing.count !== undefined) times(String(input.n ?? 1));
  if (pricing.duration !== undefined) times(String(input.duration ?? 5));
  if (pricing.text !== undefined) times(String([...input.text].length));
  const [draft, loud] = pricing.factors ?? [];
  if (input.draft === true) times(draft?.factor ?? '');
  if ((input.level ?? 'loud') === 'loud') times(loud?.factor ?? '');
  return (numerator + denominator - 1n) / denominator;
}

describe('every price', () => {
  // Proves C7-40.
  it('is the exact product, rounded up once', () => {
    fc.assert(
      fc.property(rules, inputs, (pricing, input) => {
        assert.equal(worstCaseCost(pricing, input), exactMicroUsd(pricing, input));
      }),
    );
  });

  it('is captured between zero and the worst case, whatever was delivered', () => {
    fc.assert(
      fc.property(rules, inputs, outputs, (pricing, input, delivered) => {
        const cost = actualCost(pricing, input, delivered);
        assert.ok(cost >= 0n);
        assert.ok(cost <= worstCaseCost(pricing, input));
      }),
    );
  });

  it('never decreases when more is requested or delivered', () => {
    fc.assert(
      fc.property(rules, inputs, outputs, outputs, fc.nat({ max: 20 }), (pricing, input, delivered, more, extra) => {
        const larger = {
          ...input,
          n: (input.n ?? 1) + extra,
          duration: Number(input.duration ?? 5) + extra,
          text: `${input.text}${'x'.repeat(extra)}`,
        };
        assert.ok(worstCaseCost(pricing, larger) >= worstCaseCost(pricing, input));
        assert.ok(actualCost(pricing, input, [...delivered, ...more]) >= actualCost(pricing, input, delivered));
      }),
    );
  });
});

describe('a price by usage', () => {
  const tokens: Pricing = { unit: 'token', usd: '0.00004', hold: { quantity: 1_000 } };

  it('holds the worst case, and captures what the provider reports, never more', () => {
    assert.equal(worstCaseCost(tokens, {}), 40_000n);
    assert.equal(actualCost(tokens, {}, images(1), { totalTokens: 272 }), 10_880n);
    assert.equal(actualCost(tokens, {}, images(1), { totalTokens: 1_000 }), 40_000n);
    assert.equal(actualCost(tokens, {}, images(1), { totalTokens: 1_001 }), 40_000n);
    assert.equal(actualCost(tokens, {}, images(1), { totalTokens: 0 }), 0n);
  });

  it('counts input and output tokens where there is no total', () => {
    assert.equal(actualCost(tokens, {}, images(1), { inputTokens: 100, outputTokens: 200 }), 12_000n);
    assert.equal(actualCost(tokens, {}, images(1), { inputTokens: 1, outputTokens: 2, totalTokens: 5 }), 200n);
    assert.equal(actualCost(tokens, {}, images(1), { outputTokens: 200 }), 8_000n);
  });

  it('is the hold without a report of this unit, or else what the price says', () => {
    const unreported: Pricing = { ...tokens, unreported: 250, count: { field: 'n', default: 1 } };

    assert.equal(actualCost(tokens, {}, images(1)), 40_000n);
    assert.equal(actualCost(tokens, {}, images(1), { credits: 3 }), 40_000n);
    assert.equal(actualCost(unreported, { n: 2 }, images(2)), 20_000n);
    assert.equal(actualCost({ ...tokens, unreported: 1_000 }, {}, images(1)), 40_000n);
  });

  it('multiplies the hold by outputs and seconds, and not the usage, which is of the whole task', () => {
    const credits: Pricing = {
      unit: 'credit',
      usd: '0.01',
      hold: { field: 'credits', default: 5 },
      count: { field: 'n', default: 1 },
      duration: { field: 'duration', default: 4 },
    };

    assert.equal(worstCaseCost(credits, {}), 200_000n);
    assert.equal(worstCaseCost(credits, { credits: 2, n: 3, duration: 10 }), 600_000n);
    assert.equal(actualCost(credits, { n: 3 }, images(3), { credits: 7.5 }), 75_000n);
  });

  it('counts the seconds of the input once, whatever number of files is made of it', () => {
    const seconds: Pricing = { unit: 'input_second', usd: '0.0001', hold: { field: 'max_seconds', default: 600 } };
    const files = [{ type: 'text' }, { type: 'text' }, { type: 'text' }];

    assert.equal(worstCaseCost(seconds, {}), 60_000n);
    assert.equal(worstCaseCost(seconds, { max_seconds: 30 }), 3_000n);
    assert.equal(actualCost(seconds, {}, files, { inputSeconds: 12.345 }), 1_235n);
    assert.equal(actualCost(seconds, {}, files, { inputSeconds: 60, countedInputSeconds: 12.345 }), 1_235n);
    assert.equal(actualCost(seconds, { max_seconds: 5 }, files, { inputSeconds: 12.345 }), 500n);
    assert.equal(actualCost(seconds, {}, files, { seconds: 3 }), 60_000n);
  });

  it('is zero if nothing was delivered', () => {
    assert.equal(actualCost({ ...tokens, minimum: '1' }, {}, [], { totalTokens: 10 }), 0n);
  });

  it('never exceeds the worst case, whatever is reported', () => {
    const quantity = fc.double({ min: 0, max: 1e12, noNaN: true });
    const pricing: Pricing = { ...tokens, minimum: '0.02', rounding: { mode: 'up', step: '0.003' } };
    fc.assert(
      fc.property(quantity, (totalTokens) => {
        const cost = actualCost(pricing, {}, images(1), { totalTokens });
        assert.ok(cost <= worstCaseCost(pricing, {}) && cost % 3_000n === 0n && cost >= 20_000n);
      }),
    );
  });
});

describe('minimum and rounding', () => {
  const each = (usd: string, rest: Partial<Pricing> = {}): bigint => worstCaseCost({ unit: 'image', usd, ...rest }, {});

  it('round up once, to the micro unless there is a step', () => {
    assert.equal(each('0.0000005'), 1n);
    assert.equal(each('0.0000010000001'), 2n);
    assert.equal(each('0.0000005', { rounding: { mode: 'up', step: '0.000001' } }), 1n);
    assert.equal(each('0.0100000000001', { rounding: { mode: 'up', step: '0.01' } }), 20_000n);
    assert.equal(each('0.02', { rounding: { mode: 'up', step: '0.01' } }), 20_000n);
    assert.equal(each('0', { rounding: { mode: 'up', step: '0.01' } }), 0n);
  });

  it('apply in this order', () => {
    assert.equal(each('0.001', { minimum: '0.015' }), 15_000n);
    assert.equal(each('0.001', { minimum: '0.015', rounding: { mode: 'up', step: '0.01' } }), 20_000n);
    assert.equal(each('0.03', { minimum: '0.015' }), 30_000n);
  });
});

describe('the factor of a batch', () => {
  const image: Pricing = { unit: 'image', usd: '0.013', count: { field: 'n', default: 1 } };

  // Proves C7-48.
  it('multiplies the price before it is rounded up, once', () => {
    assert.equal(worstCaseCost(image, {}, '0.4375'), 5_688n);
    assert.equal(worstCaseCost(image, { n: 2 }, '0.4375'), 11_375n);
    assert.equal(actualCost(image, { n: 2 }, images(1), undefined, '0.4375'), 5_688n);
    assert.equal(finishedCost(image, { n: 2 }, 1, undefined, '0.4375'), 5_688n);
    assert.equal(worstCaseCost({ unit: 'image', usd: '0.000001' }, {}, '0.000001'), 1n);
    for (const full of ['1', '1.0', undefined]) assert.equal(worstCaseCost(image, {}, full), 13_000n);
  });

  it('leaves the minimum and the rounding as they are', () => {
    assert.equal(worstCaseCost({ ...image, minimum: '0.01' }, {}, '0.5'), 10_000n);
    assert.equal(worstCaseCost({ ...image, rounding: { mode: 'up', step: '0.001' } }, {}, '0.5'), 7_000n);
  });

  it('captures no more than it holds, whatever was delivered', () => {
    const factors = fc.integer({ min: 1, max: 1_000_000 }).map((parts) => (parts / 1_000_000).toFixed(6));
    fc.assert(
      fc.property(rules, inputs, outputs, factors, (pricing, input, delivered, factor) => {
        const held = worstCaseCost(pricing, input, factor);
        assert.ok(held <= worstCaseCost(pricing, input));
        assert.ok(actualCost(pricing, input, delivered, undefined, factor) <= held);
      }),
    );
  });
});

describe('a price by two fields', () => {
  const pricing: Pricing = {
    unit: 'image',
    usd: '0.01',
    by: {
      fields: ['quality', 'size'],
      default: ['low', '1K'],
      usd: { 'low/1K': '0.01', 'low/2K': '0.02', 'high/1K': '0.04', 'high/2K': '0.08' },
    },
  };

  it('is that of both values, each with its default', () => {
    assert.equal(worstCaseCost(pricing, {}), 10_000n);
    assert.equal(worstCaseCost(pricing, { quality: 'high' }), 40_000n);
    assert.equal(worstCaseCost(pricing, { size: '2K' }), 20_000n);
    assert.equal(worstCaseCost(pricing, { quality: 'high', size: '2K' }), 80_000n);
  });

  it('is the base price for anything else', () => {
    assert.equal(worstCaseCost(pricing, { quality: 'constructor' }), 10_000n);
    assert.equal(worstCaseCost(pricing, { quality: 7, size: '2K' }), 10_000n);
  });
});
