/**
 * The hold's bound of the input is never below what an upstream can report, whatever its tokenizer: vocabularies of
 * 49k to 260k tokens, and the worst possible one, which has a token for each byte. Usage reported by upstreams narrows
 * the bound of requests that continue earlier ones, and it remains a bound: for every tokenizer, for each account by
 * itself, and as long as the reports are plausible.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { findTextModelProblem } from '../../../src/catalogue/text-definition.ts';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { boundInputTokens } from '../../../src/text/money/input-bound.ts';
import type { BoundedRequest } from '../../../src/text/money/input-bound.ts';
import { createReportedInputs } from '../../../src/text/money/reported-inputs.ts';
import type { InputBound, ReportedInputs } from '../../../src/text/money/reported-inputs.ts';
import type { Message, TextRequest } from '../../../src/text/request.ts';
import { countInputTokens } from '../../../src/text/tokens.ts';
import { textUpstreamName } from '../../../src/upstreams/upstream-caps.ts';
import { textDefinition } from '../../catalogue/definitions.ts';
import { textRequest } from '../text-request.ts';
import { openaiUpstream } from '../upstream/upstream-bench.ts';
import { ALPHABETS, allWritten, format, loadTokenizers, message, tool } from './prompts.ts';
import type { Count } from './prompts.ts';

const UPSTREAM = openaiUpstream('http://127.0.0.1:1/v1', {});
const OTHER = openaiUpstream('http://127.0.0.2:1/v1', {});
const MODEL = textDefinition({ upstreams: [UPSTREAM] });
const NAME = textUpstreamName(UPSTREAM);

const say = (role: 'system' | 'user', text: string): Message => ({ role, content: [{ type: 'text', text }] });
const THAI = ALPHABETS.Thai.repeat(100);

let counts: ReadonlyMap<string, Count>;
before(async () => {
  counts = await loadTokenizers();
});

async function boundOf(request: BoundedRequest, model: TextModelDefinition = MODEL): Promise<number> {
  return boundInputTokens(request, {}, model, await countInputTokens(request));
}

const saying = (said: string): BoundedRequest => ({
  messages: [say('user', said)],
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

async function narrowedBound(
  inputs: ReportedInputs,
  changes: Partial<TextRequest>,
  { model = MODEL, accountId = 'acc_1' }: { model?: TextModelDefinition; accountId?: string } = {},
): Promise<InputBound> {
  const request = textRequest({ model: MODEL.name, ...changes });
  return inputs.bound({ accountId, model, request, body: {}, countedTokens: await countInputTokens(request) });
}

describe('usage that upstreams reported before', () => {
  it('limits every continued conversation, whatever tokenizer they have', async () => {
    const conversation = fc.record({
      messages: fc.array(message, { minLength: 2, maxLength: 6 }),
      tools: fc.array(tool, { maxLength: 2 }),
      template: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(conversation, async ({ messages, tools, template }) => {
        for (const [name, count] of counts) {
          const inputs = createReportedInputs();
          for (let turns = 1; turns <= messages.length; turns++) {
            const asked = { messages: messages.slice(0, turns), tools, format: { type: 'text' as const } };
            const bound = await narrowedBound(inputs, asked);
            const reported = count(allWritten(asked)[template] ?? '');
            assert.ok(reported <= bound.tokens, `${name}: ${reported} reported, ${bound.tokens} held`);
            bound.reported(reported, NAME);
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  it('leaves only what was added to be limited by its bytes', async () => {
    const inputs = createReportedInputs();
    const first = await narrowedBound(inputs, { messages: [say('user', THAI)] });
    first.reported(3_000, NAME);

    const again = await narrowedBound(inputs, { messages: [say('user', THAI)] });
    const next = await narrowedBound(inputs, { messages: [say('user', THAI), say('user', 'And now?')] });
    const other = await narrowedBound(inputs, { messages: [say('user', `${THAI}!`)] });

    assert.ok(first.tokens > 7_000, String(first.tokens));
    assert.ok(again.tokens >= 3_000 && again.tokens < 3_100, String(again.tokens));
    assert.ok(next.tokens > again.tokens && next.tokens < 3_150, String(next.tokens));
    assert.ok(other.tokens > first.tokens, String(other.tokens));
  });

  it('applies to instructions that many conversations begin with', async () => {
    const inputs = createReportedInputs();
    const one = await narrowedBound(inputs, { messages: [say('system', THAI), say('user', 'One?')] });
    one.reported(3_010, NAME);

    const two = await narrowedBound(inputs, { messages: [say('system', THAI), say('user', 'Two?')] });

    assert.ok(two.tokens >= 3_010 && two.tokens < 3_200, String(two.tokens));
  });

  it('is used only for the same account, tools and model file', async () => {
    const inputs = createReportedInputs();
    const messages = [say('user', THAI)];
    const first = await narrowedBound(inputs, { messages });
    first.reported(3_000, NAME);

    const elsewhere = await narrowedBound(inputs, { messages }, { accountId: 'acc_2' });
    const withTool = await narrowedBound(inputs, { messages, tools: [{ name: 'find' }] });
    const edited = await narrowedBound(inputs, { messages }, { model: { ...MODEL, description: 'Another.' } });

    assert.equal(elsewhere.tokens, first.tokens);
    assert.ok(withTool.tokens > first.tokens);
    assert.equal(edited.tokens, first.tokens);
  });

  it('is used once every upstream of the model has reported, and then the maximum', async () => {
    const inputs = createReportedInputs();
    const model = textDefinition({ upstreams: [UPSTREAM, OTHER] });
    const messages = [say('user', THAI)];
    const first = await narrowedBound(inputs, { messages }, { model });
    first.reported(3_000, NAME);
    const second = await narrowedBound(inputs, { messages }, { model });
    second.reported(5_000, textUpstreamName(OTHER));
    const third = await narrowedBound(inputs, { messages }, { model });

    assert.equal(second.tokens, first.tokens);
    assert.ok(third.tokens >= 5_000 && third.tokens < 5_100, String(third.tokens));
  });

  it('is ignored when it cannot be the whole input, and for an upstream whose later report exceeds the bound', async () => {
    const inputs = createReportedInputs();
    const messages = [say('user', THAI)];
    const first = await narrowedBound(inputs, { messages });
    first.reported(12, NAME);
    const second = await narrowedBound(inputs, { messages });
    second.reported(3_000, NAME);
    const third = await narrowedBound(inputs, { messages });
    third.reported(6_000, NAME);
    const fourth = await narrowedBound(inputs, { messages });

    assert.equal(second.tokens, first.tokens);
    assert.ok(third.tokens < first.tokens);
    assert.equal(fourth.tokens, first.tokens);
  });

  it('does not apply to images by URL, which may change', async () => {
    const inputs = createReportedInputs();
    const image = (url: string): Message => ({ role: 'user', content: [{ type: 'image', url }] });
    for (const [url, isNarrowed] of [
      ['https://images.test/a.png', false],
      ['data:image/png;base64,AAAA', true],
    ] as const) {
      const first = await narrowedBound(inputs, { messages: [image(url)] });
      first.reported(900, NAME);
      const again = await narrowedBound(inputs, { messages: [image(url)] });
      assert.equal(again.tokens < first.tokens, isNarrowed, url);
    }
  });
});
