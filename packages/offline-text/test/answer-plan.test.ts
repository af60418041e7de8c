/** Plans of answers, without the service around them. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { createPlanner } from '../src/answer-plan.ts';
import type { OfflineTextRequest } from '../src/request.ts';
import { TokenBudget, loadVocabulary, piecesOf } from '../src/tokens.ts';

const MAX_TOKENS = 500;

function requestOf(prompt: string, changes: Partial<OfflineTextRequest> = {}): OfflineTextRequest {
  return {
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    stop: [],
    format: { type: 'text' },
    tools: [],
    toolChoice: 'auto',
    parallelToolCalls: true,
    reasoningEffort: undefined,
    ...changes,
  };
}

describe('the plan of an answer', () => {
  it('is the same for the same request and seed, whatever the prompt', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), fc.string(), async (prompt, seed) => {
        const [one, other] = await Promise.all([
          createPlanner(requestOf(prompt), MAX_TOKENS),
          createPlanner(requestOf(prompt), MAX_TOKENS),
        ]);

        assert.deepEqual(one(seed), other(seed));
      }),
      { numRuns: 50 },
    );
  });

  it('conforms to the requested schema', async () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 2 },
        population: { type: 'integer', minimum: 1, maximum: 50_000_000 },
        districts: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 4 },
        isCapital: { type: 'boolean' },
      },
      required: ['city', 'population', 'districts', 'isCapital'],
      additionalProperties: false,
    };
    const isValid = new Ajv2020().compile(schema);
    const plan = await createPlanner(
      requestOf('Describe Lisbon.', { format: { type: 'json_schema', schema } }),
      MAX_TOKENS,
    );

    for (let seed = 0; seed < 20; seed++) {
      const { text } = plan(String(seed));
      assert.ok(isValid(JSON.parse(text)), text);
    }
  });

  it('calls a function instead of writing text when a call is required', async () => {
    const tool = {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    };
    const plan = await createPlanner(
      requestOf('What is the weather in Oslo?', { tools: [tool], toolChoice: 'required' }),
      MAX_TOKENS,
    );

    const { text, calls } = plan('seed');
    assert.equal(text, '');
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['get_weather'],
    );
    assert.match(String((JSON.parse(calls[0]?.arguments ?? '') as { city: unknown }).city), /Oslo/);
  });

  it('ends before a stop sequence', async () => {
    const plan = await createPlanner(requestOf('Write a long essay about the sea.', { stop: ['e'] }), MAX_TOKENS);

    assert.doesNotMatch(plan('seed').text, /e/);
  });
});

describe('tokens', () => {
  before(loadVocabulary);

  it('add up to the text, in whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        const pieces = [...piecesOf(text, new TokenBudget(10_000))].map((piece) => piece.text);

        assert.equal(pieces.join(''), text);
        assert.ok(pieces.every((piece) => !/\p{Surrogate}/u.test(piece)));
      }),
    );
  });

  it('are emitted until the token budget is used up', () => {
    const budget = new TokenBudget(5);
    const pieces = [...piecesOf('one two three four five six seven eight nine ten', budget)];

    assert.equal(
      pieces.reduce((sum, { tokens }) => sum + tokens.length, 0),
      5,
    );
    assert.equal(budget.isShort, true);
  });
});
