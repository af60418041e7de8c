import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { actualCost, worstCaseCost } from '../../src/catalogue/price.ts';
import { definition } from './definitions.ts';

const { pricing } = definition();

describe('the price of a task', () => {
  it('is that of one unit, by the value of the field that prices go by', () => {
    assert.equal(worstCaseCost(pricing, { prompt: 'a' }), 10_000n);
    assert.equal(worstCaseCost(pricing, { prompt: 'a', resolution: '1k' }), 10_000n);
    assert.equal(worstCaseCost(pricing, { prompt: 'a', resolution: '2k' }), 25_000n);
    assert.equal(worstCaseCost({ unit: 'image', usd: '0' }, {}), 0n);
  });

  it('is the plain one for every value without a price of its own', () => {
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

  it('is captured for what was delivered, and never above the worst case', () => {
    const input = { resolution: '2k' };

    assert.equal(actualCost(pricing, input, 0), 0n);
    assert.equal(actualCost(pricing, input, 1), 25_000n);
    assert.equal(actualCost(pricing, input, 5), 25_000n);
  });
});
