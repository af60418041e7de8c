/**
 * Usage reported by upstreams narrows the bound of requests that continue earlier ones, and it remains a bound: for
 * every tokenizer, for each account by itself, and as long as the reports are plausible.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import { createReportedInputs } from '../../../src/text/money/reported-inputs.ts';
import type { InputBound, ReportedInputs } from '../../../src/text/money/reported-inputs.ts';
import type { Message, TextRequest } from '../../../src/text/request.ts';
import { countInputTokens } from '../../../src/text/tokens.ts';
import { textUpstreamName } from '../../../src/upstreams/upstream-caps.ts';
import { textDefinition } from '../../catalogue/definitions.ts';
import { textRequest } from '../text-request.ts';
import { openaiUpstream } from '../upstream/upstream-bench.ts';
import { ALPHABETS, allWritten, loadTokenizers, message, tool } from './prompts.ts';
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

async function boundOf(
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
            const bound = await boundOf(inputs, asked);
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
    const first = await boundOf(inputs, { messages: [say('user', THAI)] });
    first.reported(3_000, NAME);

    const again = await boundOf(inputs, { messages: [say('user', THAI)] });
    const next = await boundOf(inputs, { messages: [say('user', THAI), say('user', 'And now?')] });
    const other = await boundOf(inputs, { messages: [say('user', `${THAI}!`)] });

    assert.ok(first.tokens > 7_000, String(first.tokens));
    assert.ok(again.tokens >= 3_000 && again.tokens < 3_100, String(again.tokens));
    assert.ok(next.tokens > again.tokens && next.tokens < 3_150, String(next.tokens));
    assert.ok(other.tokens > first.tokens, String(other.tokens));
  });

  it('applies to instructions that many conversations begin with', async () => {
    const inputs = createReportedInputs();
    const one = await boundOf(inputs, { messages: [say('system', THAI), say('user', 'One?')] });
    one.reported(3_010, NAME);

    const two = await boundOf(inputs, { messages: [say('system', THAI), say('user', 'Two?')] });

    assert.ok(two.tokens >= 3_010 && two.tokens < 3_200, String(two.tokens));
  });

  it('is used only for the same account, tools and model file', async () => {
    const inputs = createReportedInputs();
    const messages = [say('user', THAI)];
    const first = await boundOf(inputs, { messages });
    first.reported(3_000, NAME);

    const elsewhere = await boundOf(inputs, { messages }, { accountId: 'acc_2' });
    const withTool = await boundOf(inputs, { messages, tools: [{ name: 'find' }] });
    const edited = await boundOf(inputs, { messages }, { model: { ...MODEL, description: 'Another.' } });

    assert.equal(elsewhere.tokens, first.tokens);
    assert.ok(withTool.tokens > first.tokens);
    assert.equal(edited.tokens, first.tokens);
  });

  it('is used once every upstream of the model has reported, and then the maximum', async () => {
    const inputs = createReportedInputs();
    const model = textDefinition({ upstreams: [UPSTREAM, OTHER] });
    const messages = [say('user', THAI)];
    const first = await boundOf(inputs, { messages }, { model });
    first.reported(3_000, NAME);
    const second = await boundOf(inputs, { messages }, { model });
    second.reported(5_000, textUpstreamName(OTHER));
    const third = await boundOf(inputs, { messages }, { model });

    assert.equal(second.tokens, first.tokens);
    assert.ok(third.tokens >= 5_000 && third.tokens < 5_100, String(third.tokens));
  });

  it('is ignored when it cannot be the whole input, and for an upstream whose later report exceeds the bound', async () => {
    const inputs = createReportedInputs();
    const messages = [say('user', THAI)];
    const first = await boundOf(inputs, { messages });
    first.reported(12, NAME);
    const second = await boundOf(inputs, { messages });
    second.reported(3_000, NAME);
    const third = await boundOf(inputs, { messages });
    third.reported(6_000, NAME);
    const fourth = await boundOf(inputs, { messages });

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
      const first = await boundOf(inputs, { messages: [image(url)] });
      first.reported(900, NAME);
      const again = await boundOf(inputs, { messages: [image(url)] });
      assert.equal(again.tokens < first.tokens, isNarrowed, url);
    }
  });
});
