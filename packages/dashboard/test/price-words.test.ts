/** A price in words. That the words of every model are complete is in test/web/models.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { priceWords } from '../src/pages/models/price-words.ts';

describe('a price in words', () => {
  it('does not round, and prices a thousand characters instead of one', () => {
    assert.deepEqual(priceWords({ unit: 'character', usd: '0.000015', text: { field: 'text' } }), {
      short: '$0.015 per 1,000 characters',
      lines: ['$0.015 per 1,000 characters', 'counted in “text”'],
    });
    assert.equal(priceWords({ unit: 'character', usd: '0.0150001' }).short, '$15.0001 per 1,000 characters');
    assert.equal(priceWords({ unit: 'task', usd: '3' }).short, '$3.00 per task');
    const byResolution = { field: 'resolution', usd: { '1K': '0.04', '2K': '0.08' } };
    assert.deepEqual(priceWords({ unit: 'image', usd: '0.04', by: byResolution }), {
      short: 'from $0.04 per image',
      lines: ['$0.04 per image, resolution 1K', '$0.08 per image, resolution 2K'],
    });
    assert.equal(
      priceWords({ unit: 'token', inputUsd: '0.05', outputUsd: '0.2' }).short,
      '$0.05 in, $0.20 out per million tokens',
    );
  });

  it('names what is held for a price by usage, its minimum and its rounding', () => {
    assert.deepEqual(
      priceWords({
        unit: 'token',
        usd: '0.00004',
        hold: { quantity: 6240 },
        count: { field: 'n', default: 1 },
        unreported: 1056,
        minimum: '0.01',
        rounding: { mode: 'up', step: '0.001' },
      }),
      {
        short: '$40.00 per million tokens',
        lines: [
          '$40.00 per million tokens',
          'at most 6,240 tokens per output, which are held',
          '1,056 tokens per output if the provider reports no usage',
          'at least $0.01 per task',
          'rounded up to a multiple of $0.001',
        ],
      },
    );
    assert.deepEqual(priceWords({ unit: 'credit', usd: '0.01', hold: { field: 'budget', default: 1 } }).lines, [
      '$0.01 per credit',
      'at most “budget” per output, which is held, default 1 credit',
    ]);
  });

  it('names the factor of batches', () => {
    assert.deepEqual(priceWords({ unit: 'task', usd: '3', batchFactor: '0.5' }).lines, [
      '$3.00 per task',
      '× 0.5 in batches',
    ]);
    assert.ok(
      priceWords({ unit: 'token', inputUsd: '1', outputUsd: '2', batchFactor: '0.5' }).lines.includes(
        '× 0.5 in batches',
      ),
    );
  });

  it('names the seconds of an input, and what is held for them', () => {
    const hold = { field: 'max_seconds', default: 600 };
    assert.deepEqual(priceWords({ unit: 'input_second', usd: '0.0001', hold }), {
      short: '$0.0001 per second of the input',
      lines: ['$0.0001 per second of the input', 'at most “max_seconds”, which is held, default 600 seconds'],
    });
  });

  it('names both values of a price by two fields', () => {
    const by = { fields: ['quality', 'size'], usd: { 'low/1K': '0.01', 'high/1K': '0.04' } };
    assert.deepEqual(priceWords({ unit: 'image', usd: '0.01', by }), {
      short: 'from $0.01 per image',
      lines: ['$0.01 per image, quality / size low / 1K', '$0.04 per image, quality / size high / 1K'],
    });
  });
});
