/** The function that the built-in tool is to a model, and what all turns of a model come to at most. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { imageFunctionName, promptOf } from '../../../src/text/tools/image-tool.ts';
import { boundInputOfTurns } from '../../../src/text/tools/image-turns.ts';
import { Tally } from '../../../src/text/tally.ts';
import { loadTokenizer } from '../../../src/text/tokens.ts';
import { textModel } from '../upstream/upstream-bench.ts';

describe('the function', () => {
  it('has a name that no function of the client has', () => {
    assert.equal(imageFunctionName([]), 'image_generation');
    const taken = ['image_generation', 'image_generation_2', 'image_generation_4'].map((name) => ({ name }));
    assert.equal(imageFunctionName(taken), 'image_generation_3');
  });

  it('takes a prompt and nothing else', () => {
    assert.equal(promptOf('{"prompt":"a fox","size":"huge"}'), 'a fox');
    for (const text of ['', '{', 'null', '7', '"a fox"', '[]', '{}', '{"prompt":null}', '{"prompt":""}']) {
      assert.equal(promptOf(text), undefined, text);
    }
    assert.equal(promptOf('['.repeat(100_000)), undefined);
  });
});

describe('the input of all turns', () => {
  const bound = (changes: Parameters<typeof textModel>[1], maxImages = 2): Promise<number> =>
    boundInputOfTurns(
      { model: textModel([], changes), imageTool: { offered: { name: 'image_generation' }, maxImages } },
      1_000,
      500,
    );

  it('is that of the first, and of one more after each image with what was written by then', async () => {
    assert.equal(await boundInputOfTurns({ model: textModel([]) }, 1_000, 500), 1_000);
    const two = await bound({});
    assert.ok(two > 3 * 1_000 + 2 * 500 && two < 3 * 1_000 + 2 * 500 + 4 * 4_096, String(two));
    assert.ok((await bound({ inputTokens: { perMessage: 0, perTool: 0, tokensPerByte: 0.1 } })) < two);
    assert.ok((await bound({}, 1)) < two);
  });

  it('is never above the context, except for what the first turn is bounded by', async () => {
    assert.equal(await bound({ contextTokens: 1_200 }), 1_000 + 2 * 1_200);
    assert.equal(await bound({ contextTokens: 800 }), 3 * 1_000);
  });
});

describe('the usage of several turns', () => {
  const report = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 6, reasoningTokens: 1 };

  it('is the sum of what was reported and counted, and estimated if a part of it is', async () => {
    await loadTokenizer();
    const tally = new Tally(5);
    assert.deepEqual([tally.inputTokens, tally.hasEarlierTurns], [5, false]);
    tally.report(report);
    tally.nextTurn(20);
    assert.deepEqual([tally.inputTokens, tally.hasEarlierTurns, tally.isReported], [20, true, false]);
    assert.deepEqual(tally.usage(), { ...report, inputTokens: 30, isEstimated: true });
    tally.addOutput('Hello');
    assert.equal(tally.usage().outputTokens, 7);
    tally.report(report);
    assert.deepEqual(tally.usage(), {
      inputTokens: 20,
      cachedInputTokens: 8,
      outputTokens: 12,
      reasoningTokens: 2,
      isEstimated: false,
    });
  });
});
