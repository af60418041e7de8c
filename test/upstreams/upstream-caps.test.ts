/** The names of upstreams and how many jobs they accept, according to model files. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capsOf, concurrencyOf, upstreamName } from '../../src/upstreams/upstream-caps.ts';
import { definition } from '../catalogue/definitions.ts';

describe('the name of an upstream', () => {
  it('is its id, else its protocol and host', () => {
    const baseUrl = 'https://images.example.com:8443/v1';
    assert.equal(upstreamName({ id: 'north', protocol: 'openai', baseUrl }), 'north');
    assert.equal(upstreamName({ protocol: 'openai', baseUrl }), 'openai:images.example.com:8443');
    assert.equal(upstreamName({ protocol: 'replicate' }), 'replicate');
    assert.equal(upstreamName({ id: 'north', protocol: 'embedded' }), 'embedded');
  });
});

describe('the cap of an upstream', () => {
  it('is that of the model, or the default of its protocol', () => {
    assert.equal(concurrencyOf({ protocol: 'cog', concurrency: 3 }), 3);
    assert.equal(concurrencyOf({ protocol: 'cog' }), 1);
    assert.equal(concurrencyOf({ protocol: 'openai' }), undefined);
  });

  it('is collected from all models and routes, each number once', () => {
    const models = [
      definition({
        routes: {
          default: { upstreams: [{ id: 'north', protocol: 'openai', model: 'a', concurrency: 12 }] },
          fast: { upstreams: [{ id: 'north', protocol: 'openai', model: 'b', concurrency: 4 }] },
        },
      }),
      definition({ routes: { default: { upstreams: [{ id: 'north', protocol: 'openai', model: 'c' }] } } }),
      definition({ routes: { default: { upstreams: [{ id: 'south', protocol: 'openai', model: 'c' }] } } }),
      definition(),
    ];

    assert.deepEqual(
      [...capsOf(models)],
      [
        ['north', [4, 12]],
        ['south', []],
      ],
    );
  });
});
