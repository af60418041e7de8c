/**
 * The hold's bound of the input is never below what an upstream can report, whatever its tokenizer: vocabularies of
 * 49k to 260k tokens, and the worst possible one, which has a token for each byte.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { findTextModelProblem } from '../../../src/catalogue/text-definition.ts';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { boundInputTokens } from '../../../src/text/money/input-bound.ts';
import type { BoundedRequest } from '../../../src/text/money/input-bound.ts';
import { countInputTokens } from '../../../src/text/tokens.ts';
import { textDefinition } from '../../catalogue/definitions.ts';
import { openaiUpstream } from '../upstream/upstream-bench.ts';
import { ALPHABETS, allWritten, format, loadTokenizers, message, tool } from './prompts.ts';
import type { Count } from './prompts.ts';

const MODEL = textDefinition({ upstreams: [openaiUpstream('http://127.0.0.1:1/v1', {})] });

let counts: ReadonlyMap<string, Count>;
before(async () => {
  counts = await loadTokenizers();
});

async function boundOf(request: BoundedRequest, model: TextModelDefinition = MODEL): Promise<number> {
  return boundInputTokens(request, {}, model, await countInputTokens(request));
}

const saying = (said: string): BoundedRequest => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: said }] }],
  tools: [],
  format: { type: 'text' },
});

describe('the upper bound of a request’s input', () => {
  it('is never below what any tokenizer counts of the request in a chat template', async () => {
    const request = fc.record({
      messages: fc.array(message, { minLength: 1, maxLength: 6 }),
      tools: fc.array(tool, { maxLength: 3 }),
      format,
    });
    await fc.assert(
      fc.asyncProperty(request, async (asked) => {
        const bound = await boundOf(asked);
        for (const prompt of allWritten(asked)) {
          for (const [name, count] of counts) {
            const reported = count(prompt);
            assert.ok(reported <= bound, `${name}: ${reported} reported, ${bound} held`);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  for (const [script, alphabet] of Object.entries(ALPHABETS)) {
    it(`is never below a token per byte of long ${script}`, async () => {
      const said = alphabet.repeat(4_000);
      assert.ok((await boundOf(saying(said))) >= Buffer.byteLength(said.normalize('NFKC')));
    });
  }

  it('is narrowed by the model file, and is the exact count for the embedded model', async () => {
    const said = saying('word '.repeat(20_000));
    const counted = await countInputTokens(said);
    const whole = await boundOf(said);

    assert.equal(await boundOf(said, textDefinition({ upstreams: [{ protocol: 'embedded', model: 'x' }] })), counted);
    assert.ok((await boundOf(said, { ...MODEL, inputTokens: { tokenizer: 'o200k_base' } })) < whole / 2);
    const half = await boundOf(said, { ...MODEL, inputTokens: { tokensPerByte: 0.5, perRequest: 0, perMessage: 0 } });
    assert.ok(half >= 50_000 && half < 50_100, String(half));
  });

  it('accepts a tokenizer or a ratio from the model file, and not both', () => {
    const problem = findTextModelProblem({ ...MODEL, inputTokens: { tokenizer: 'o200k_base', tokensPerByte: 0.5 } });
    assert.match(problem ?? '', /^inputTokens: tokenizer and tokensPerByte exclude each other/);
    assert.equal(findTextModelProblem({ ...MODEL, inputTokens: { tokensPerByte: 0.5 } }), undefined);
  });
});
