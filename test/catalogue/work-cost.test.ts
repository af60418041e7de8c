/** What work costs the operator: the provider's word, its usage, or the price rule. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lossesOf, workCost } from '../../src/catalogue/work-cost.ts';
import { findCostProblem } from '../../src/catalogue/price-proof.ts';
import { definition, textDefinition } from './definitions.ts';

const usage = { credits: 3, outputTokens: 100 };
const RATES = { credits: '0.01', outputTokens: '0.00003' };
const PRICE = { unit: 'image', usd: '0.02', count: { field: 'n', default: 1 } } as const;

describe('the cost of work', () => {
  it('is what the provider reports, else its usage at the rates, else the price rule, else not known', () => {
    const rule = { usage: RATES, pricing: PRICE };

    assert.deepEqual(workCost(rule, {}, 1, { usage, costMicroUsd: 7n }), {
      usage,
      cost: { microUsd: 7n, source: 'reported' },
    });
    assert.deepEqual(workCost(rule, {}, 1, { usage }), { usage, cost: { microUsd: 33_000n, source: 'usage' } });
    assert.deepEqual(workCost(rule, { n: 2 }, 2, {}), { cost: { microUsd: 40_000n, source: 'rule' } });
    assert.deepEqual(workCost({ usage: RATES }, {}, 1, {}), {});
    assert.deepEqual(workCost(undefined, {}, 1, { usage }), { usage });
    assert.deepEqual(workCost(undefined, {}, 1, { costMicroUsd: 0n }), { cost: { microUsd: 0n, source: 'reported' } });
  });

  it('is not calculated from half of the usage', () => {
    const rule = { usage: RATES };

    assert.deepEqual(workCost(rule, {}, 1, { usage: { credits: 3 } }), { usage: { credits: 3 } });
    assert.deepEqual(workCost({ ...rule, pricing: PRICE }, {}, 1, { usage: { credits: 3 } }), {
      usage: { credits: 3 },
      cost: { microUsd: 20_000n, source: 'rule' },
    });
  });

  it('is rounded up once, and not believed above the bound', () => {
    const cost = (rate: string, credits: number) =>
      workCost({ usage: { credits: rate } }, {}, 1, { usage: { credits } });

    assert.equal(cost('0.0000005', 1).cost?.microUsd, 1n);
    assert.equal(cost('0.0000005', 3).cost?.microUsd, 2n);
    assert.equal(cost('0.1', 0).cost?.microUsd, 0n);
    assert.equal(cost('100000', 1).cost?.microUsd, 100_000_000_000n);
    assert.equal(cost('100000.000001', 1).cost, undefined);
  });

  it('of failed work is only what the provider reports', () => {
    assert.deepEqual(workCost({ usage: RATES, pricing: PRICE }, {}, 0, {}), {});
    assert.deepEqual(workCost({ usage: RATES, pricing: PRICE }, {}, 0, { usage }).cost?.source, 'usage');
  });
});

const costing = (cost: object, usd = '0.01') => {
  const { inputSchema } = definition();
  return definition({
    name: 'acme/costly',
    pricing: { unit: 'image', usd },
    inputSchema: {
      ...inputSchema,
      properties: { prompt: { type: 'string', maxLength: 100 }, n: { type: 'integer', minimum: 1, maximum: 4 } },
    },
    routes: {
      default: {
        upstreams: [
          { protocol: 'scripted', model: 'images' },
          { protocol: 'scripted', model: 'images', cost },
        ],
      },
    },
    examples: [{ prompt: 'one' }, { prompt: 'two', n: 3 }],
  });
};

describe('the cost rule of an upstream', () => {
  it('is proven like a price', () => {
    const at = 'routes.default.upstreams.1.cost.pricing';
    const problemOf = (pricing: object): string | undefined => findCostProblem(costing({ pricing }));

    assert.equal(problemOf(PRICE), undefined);
    assert.equal(findCostProblem(costing({ usage: RATES })), undefined);
    assert.equal(
      problemOf({ ...PRICE, count: { field: 'm', default: 1 } }),
      `${at}.count.field: the inputSchema has no property "m"`,
    );
    assert.equal(
      problemOf({ unit: 'credit', usd: '1', hold: { quantity: 1 } }),
      `${at}.unit: a cost by credit is a rate of usage`,
    );
    assert.equal(problemOf({ ...PRICE, lateCancel: 'full' }), `${at}.lateCancel: means nothing in a cost`);
    assert.equal(problemOf({ ...PRICE, batchFactor: '0.5' }), `${at}.batchFactor: means nothing in a cost`);
  });

  it('warns of a price that is below it for an example', () => {
    assert.deepEqual(lossesOf([costing({ pricing: PRICE }), textDefinition()]), [
      {
        model: 'acme/costly',
        problem: 'routes.default.upstreams.1.cost: examples.0 costs 0.02 USD and is sold for 0.01',
      },
    ]);
    assert.deepEqual(lossesOf([costing({ pricing: PRICE }, '0.02')]), [
      {
        model: 'acme/costly',
        problem: 'routes.default.upstreams.1.cost: examples.1 costs 0.06 USD and is sold for 0.02',
      },
    ]);
    assert.deepEqual(lossesOf([costing({ pricing: PRICE }, '0.06'), costing({ usage: RATES })]), []);
  });

  it('warns of the price of batches that is below it', () => {
    const whole = costing({ pricing: PRICE }, '0.06');
    const halved = { ...whole, pricing: { ...whole.pricing, batchFactor: '0.5' } };
    assert.deepEqual(lossesOf([halved]), [
      {
        model: 'acme/costly',
        problem: 'routes.default.upstreams.1.cost: examples.1 costs 0.06 USD and is sold for 0.03 in a batch',
      },
    ]);
  });
});
