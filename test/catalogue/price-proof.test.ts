import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findPricingProblem } from '../../src/catalogue/price-proof.ts';
import type { Pricing } from '../../src/catalogue/price.ts';
import { definition } from './definitions.ts';

/** Fields as models have them (spec §2.5). */
const PROPERTIES = {
  prompt: { type: 'string', minLength: 1, maxLength: 2000 },
  text: { type: 'string', maxLength: 5000 },
  endless: { type: 'string' },
  lyrics: { type: 'string', maxLength: 100 },
  n: { type: 'integer', minimum: 1, maximum: 4 },
  seed: { type: 'integer', minimum: 0 },
  shift: { type: 'integer', minimum: -5, maximum: 5 },
  duration: { type: 'integer', minimum: 1, maximum: 300, default: 5 },
  length: { type: 'string', enum: ['6', '10'] },
  pace: { type: 'string', enum: ['6', 'auto'] },
  speed: { type: 'number', minimum: 0, maximum: 2 },
  either: { type: ['integer', 'null'], minimum: 1, maximum: 4 },
  resolution: { type: 'string', enum: ['1k', '2k'], default: '2k' },
  draft: { type: 'boolean' },
  generate_audio: { type: 'boolean', default: true },
};

function problemOf(pricing: Pricing): string | undefined {
  const inputSchema = {
    type: 'object',
    additionalProperties: false,
    required: ['prompt', 'text', 'endless'],
    properties: PROPERTIES,
  };
  return findPricingProblem(definition({ pricing, inputSchema }));
}

describe('price rules that fit the schema', () => {
  it('are accepted, for every unit', () => {
    const fitting: Pricing[] = [
      { unit: 'task', usd: '1' },
      { unit: 'image', usd: '0.01' },
      { unit: 'image', usd: '0.01', count: { field: 'n', default: 1 } },
      { unit: 'image', usd: '0.03', by: { field: 'resolution', usd: { '1k': '0.01', '2k': '0.030' } } },
      { unit: 'second', usd: '0.05', duration: { field: 'duration', default: 5 } },
      { unit: 'second', usd: '0.05', duration: { field: 'length', default: 6 }, count: { field: 'n', default: 1 } },
      { unit: 'character', usd: '0.0000001', text: { field: 'text' } },
      {
        unit: 'task',
        usd: '1',
        factors: [
          { field: 'draft', value: true, factor: '0.25' },
          { field: 'generate_audio', value: true, factor: '1.5', default: true },
          { field: 'generate_audio', value: false, factor: '1', default: true },
          { field: 'shift', value: -5, factor: '2' },
          { field: 'resolution', value: '1k', factor: '0.5' },
        ],
      },
    ];
    for (const pricing of fitting) assert.equal(problemOf(pricing), undefined, JSON.stringify(pricing));
  });
});

describe('price rules that do not fit', () => {
  const second = { unit: 'second', usd: '0.05' } as const;
  const image = { unit: 'image', usd: '0.01' } as const;
  const task = { unit: 'task', usd: '1' } as const;
  const cases: readonly (readonly [Pricing, RegExp])[] = [
    [{ ...task, batchFactor: '0.000' }, /^pricing\.batchFactor: it is 0$/],
    [{ ...image, count: { field: 'number' } }, /^pricing\.count\.field: .*"number"$/],
    [{ ...image, count: { field: 'constructor' } }, /^pricing\.count\.field: .*no property/],
    [{ ...image, by: { field: 'size', usd: {} } }, /^pricing\.by\.field: .*no property "size"$/],
    [{ ...image, by: { field: 'resolution', usd: { '2k': '0.01' } } }, /^pricing\.by\.usd: no price for "1k"$/],
    [
      { ...image, by: { field: 'resolution', usd: { '1k': '1', '2k': '0.01', '4K': '2' } } },
      /^pricing\.by\.usd: resolution is never "4K"$/,
    ],
    [
      { ...image, by: { field: 'resolution', usd: { '1k': '0.01', '2k': '0.02' } } },
      /^pricing\.usd: without resolution it is "2k", which costs 0\.02$/,
    ],
    [{ ...image, by: { field: 'prompt', usd: { a: '1' } } }, /^pricing\.by\.field: prompt is not an enum/],
    [{ ...image, count: { field: 'n' } }, /^pricing\.count\.default: n may be left out/],
    [{ ...image, count: { field: 'n', default: 5 } }, /^pricing\.count\.default: 5 is no value of n$/],
    [{ ...second, duration: { field: 'duration', default: 6 } }, /^pricing\.duration\.default: .*says 5, not 6$/],
    [{ ...second, duration: { field: 'length', default: 8 } }, /^pricing\.duration\.default: 8 is no value/],
    [
      { ...image, count: { field: 'seed', default: 1 } },
      /^pricing\.count\.field: seed needs a minimum .* and a maximum$/,
    ],
    [{ ...image, count: { field: 'shift', default: 1 } }, /^pricing\.count\.field: shift needs a minimum of 0/],
    [{ ...image, count: { field: 'speed', default: 1 } }, /^pricing\.count\.field: speed is neither/],
    [{ ...image, count: { field: 'either', default: 1 } }, /^pricing\.count\.field: either is neither/],
    [
      { ...second, duration: { field: 'pace', default: 6 } },
      /^pricing\.duration\.field: pace can be "auto", no number$/,
    ],
    [second, /^pricing: a price by second needs duration$/],
    [{ unit: 'character', usd: '1' }, /^pricing: a price by character needs text$/],
    [
      { unit: 'character', usd: '0.01', text: { field: 'endless' } },
      /^pricing\.text\.field: endless needs a maxLength$/,
    ],
    [{ unit: 'character', usd: '0.01', text: { field: 'lyrics' } }, /^pricing\.text\.field: lyrics may be left out$/],
    [{ unit: 'character', usd: '0.01', text: { field: 'n' } }, /^pricing\.text\.field: n is not a string$/],
    [{ ...task, duration: { field: 'duration', default: 5 } }, /^pricing\.duration: means nothing in a price by task$/],
    [{ ...task, factors: [{ field: 'daft', value: true, factor: '1' }] }, /^pricing\.factors\.0\.field: .*"daft"$/],
    [
      { ...task, factors: [{ field: 'draft', value: 'true', factor: '1' }] },
      /^pricing\.factors\.0\.value: draft is never "true"$/,
    ],
    [{ ...task, factors: [{ field: 'n', value: 5, factor: '1' }] }, /^pricing\.factors\.0\.value: n is never 5$/],
    [
      {
        ...task,
        factors: [
          { field: 'draft', value: true, factor: '1' },
          { field: 'draft', value: true, factor: '2' },
        ],
      },
      /^pricing\.factors\.1: there is a factor/,
    ],
    [
      { ...task, factors: [{ field: 'generate_audio', value: true, factor: '2' }] },
      /^pricing\.factors\.0\.default: the inputSchema says true$/,
    ],
    [
      { ...task, factors: [{ field: 'generate_audio', value: false, factor: '2', default: false }] },
      /^pricing\.factors\.0\.default: the inputSchema says true$/,
    ],
    [
      { ...second, usd: '4000', duration: { field: 'duration', default: 5 } },
      /^pricing: a task could cost 1200000 USD, above 1000000$/,
    ],
    [
      { ...task, usd: '5000', factors: [{ field: 'draft', value: true, factor: '300' }] },
      /^pricing: a task could cost 1500000 USD/,
    ],
  ];
  it('are rejected with the member and the reason', () => {
    for (const [pricing, expected] of cases) assert.match(problemOf(pricing) ?? 'nothing', expected, String(expected));
  });
});

describe('a price by usage', () => {
  const tokens: Pricing = { unit: 'token', usd: '0.00004', hold: { quantity: 6_240 } };

  it('is accepted with a bound', () => {
    const fitting: Pricing[] = [
      tokens,
      { ...tokens, unreported: 6_240, minimum: '0.01', rounding: { mode: 'up', step: '0.000001' } },
      { unit: 'credit', usd: '1', hold: { field: 'n', default: 4 }, count: { field: 'n', default: 1 } },
      { unit: 'credit', usd: '1', hold: { quantity: 1 }, duration: { field: 'duration', default: 5 } },
      { unit: 'input_second', usd: '1', hold: { quantity: 3_600 }, unreported: 60 },
    ];
    for (const pricing of fitting) assert.equal(problemOf(pricing), undefined, JSON.stringify(pricing));
  });

  it('is rejected without one, or with one that bounds nothing', () => {
    const cases: readonly (readonly [Pricing, string])[] = [
      [{ unit: 'token', usd: '1' }, 'pricing: a price by token needs hold'],
      [{ ...tokens, hold: {} }, 'pricing.hold: it needs either quantity or field'],
      [{ ...tokens, hold: { quantity: 1, field: 'n' } }, 'pricing.hold: it needs either quantity or field'],
      [{ ...tokens, hold: { quantity: 1, default: 1 } }, 'pricing.hold.default: only a field has one'],
      [{ ...tokens, hold: { field: 'seed' } }, 'pricing.hold.field: seed needs a minimum of 0 or more and a maximum'],
      [{ ...tokens, hold: { field: 'n' } }, 'pricing.hold.default: n may be left out, so a default is needed'],
      [{ ...tokens, unreported: 6_241 }, 'pricing.unreported: 6241 is above the 6240 of hold'],
      [{ ...tokens, text: { field: 'text' } }, 'pricing.text: means nothing in a price by token'],
      [{ unit: 'image', usd: '1', hold: { quantity: 1 } }, 'pricing.hold: means nothing in a price by image'],
      [{ unit: 'input_second', usd: '1' }, 'pricing: a price by input_second needs hold'],
      [
        { unit: 'input_second', usd: '1', hold: { quantity: 1 }, count: { field: 'n', default: 1 } },
        'pricing.count: means nothing in a price by input_second',
      ],
      [{ unit: 'task', usd: '1', unreported: 1 }, 'pricing.unreported: means nothing in a price by task'],
    ];
    for (const [pricing, problem] of cases) assert.equal(problemOf(pricing), problem);
  });

  it('is rejected above the highest price of a task, by its quantity, minimum or step', () => {
    const above = 'pricing: a task could cost 1000000.0001 USD, above 1000000';
    assert.equal(problemOf({ unit: 'token', usd: '0.0001', hold: { quantity: 1_000_000_000 } }), undefined);
    assert.match(
      problemOf({ unit: 'token', usd: '0.0100', hold: { quantity: 1_000_000_000 } }) ?? '',
      /^pricing: a task could cost 10000000 USD, above 1000000$/,
    );
    assert.equal(problemOf({ unit: 'credit', usd: '0.0001', hold: { quantity: 1e9 }, minimum: '1' }), undefined);
    assert.equal(problemOf({ unit: 'credit', usd: '1000000.0001', hold: { quantity: 1 } }), above);
    assert.equal(
      problemOf({ unit: 'task', usd: '1', rounding: { mode: 'up', step: '0.000000' } }),
      'pricing.rounding.step: it is 0',
    );
  });
});

describe('a price by two fields', () => {
  const usd = { '1k/6': '1', '1k/10': '2', '2k/6': '3', '2k/10': '4' };
  const by = { fields: ['resolution', 'length'], default: ['2k', '6'], usd };

  it('is accepted if every pair has a price, and the base price is that of the defaults', () => {
    assert.equal(problemOf({ unit: 'task', usd: '3', by }), undefined);
  });

  it('is rejected if a pair has none, or cannot occur, or if a default is not what the schema says', () => {
    const without = Object.fromEntries(Object.entries(usd).filter(([key]) => key !== '1k/10'));
    const cases: readonly (readonly [Pricing['by'], string])[] = [
      [{ ...by, usd: without }, 'pricing.by.usd: no price for "1k/10"'],
      [{ ...by, usd: { ...usd, '4k/6': '9' } }, 'pricing.by.usd: resolution/length is never "4k/6"'],
      [{ fields: by.fields, usd }, 'pricing.by.default: resolution may be left out, so the values need a default'],
      [{ ...by, default: ['1k', '6'] }, 'pricing.by.default: the inputSchema says "2k", not "1k"'],
      [{ ...by, default: ['2k', '7'] }, 'pricing.by.default: "7" is no value of length'],
      [{ ...by, field: 'resolution' }, 'pricing.by: it needs either field or fields'],
      [{ usd }, 'pricing.by: it needs either field or fields'],
      [{ ...by, fields: ['resolution', 'n'] }, 'pricing.by.field: n is not an enum of strings'],
      [
        { field: 'length', default: ['6', '6'], usd: { '6': '3', '10': '3' } },
        'pricing.by.default: only fields have one; without the field, usd is the price',
      ],
    ];
    for (const [tiers, problem] of cases) {
      assert.equal(problemOf({ unit: 'task', usd: '3', ...(tiers === undefined ? {} : { by: tiers }) }), problem);
    }
    assert.equal(
      problemOf({ unit: 'task', usd: '1', by }),
      'pricing.usd: without resolution and length it is "2k/6", which costs 3',
    );
  });
});
