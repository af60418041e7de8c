/**
 * The hold of a call of `POST /responses` covers all that an upstream with this interface receives: reasoning that
 * other upstreams have encrypted, what is next to it, reasoning that nothing follows, and omitted turns.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { boundInputTokens } from '../../../src/text/money/input-bound.ts';
import type { DecodedResponsesRequest } from '../../../src/text/responses/decode-request.ts';
import { checkResponsesBody } from '../../../src/text/responses/decode-request.ts';
import { fitConversation, selfContainedBody } from '../../../src/text/responses/conversation.ts';
import { countInputTokens } from '../../../src/text/tokens.ts';
import { textDefinition } from '../../catalogue/definitions.ts';
import { decode } from '../responses/answers.ts';
import { openaiUpstream } from '../upstream/upstream-bench.ts';
import { text } from './prompts.ts';

/** No margins: the input itself is the bound. */
const NO_MARGINS = { perRequest: 0, perMessage: 0, perTool: 0 };
const MODEL = textDefinition({
  upstreams: [openaiUpstream('http://127.0.0.1:1/v1', { apis: ['responses'] })],
  inputTokens: NO_MARGINS,
});
const WITH_TOKENIZER = { ...MODEL, inputTokens: { ...NO_MARGINS, tokenizer: 'o200k_base' as const } };

type Item = Readonly<Record<string, unknown>>;

const texts = (type: string) =>
  fc.array(
    text(60).map((said) => ({ type, text: said })),
    { maxLength: 2 },
  );
const reasoning: fc.Arbitrary<Item> = fc.record({
  type: fc.constant('reasoning'),
  summary: texts('summary_text'),
  content: texts('reasoning_text'),
  encrypted_content: fc.option(text(2_000).map((said) => `gAAA${Buffer.from(said).toString('base64')}`)),
});
const said = (role: string): fc.Arbitrary<Item> => text(200).map((content) => ({ role, content }));
const call: fc.Arbitrary<readonly Item[]> = text(100).map((output) => [
  { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"at":1e15}' },
  { type: 'function_call_output', call_id: 'call_1', output },
]);
const input = fc
  .array(fc.oneof(reasoning, said('user'), said('assistant'), said('developer'), call), { minLength: 1, maxLength: 12 })
  .map((items) => items.flat());

/** Every text of the input that is sent, at any position in an item. */
function textsOf(value: unknown, isText = false): readonly string[] {
  if (typeof value === 'string') return isText ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((member) => textsOf(member, isText));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => textsOf(member, TEXT_MEMBERS.has(name)));
}
const TEXT_MEMBERS = new Set(['text', 'encrypted_content', 'arguments', 'output', 'call_id', 'content', 'input']);

/** Bytes of the input that an upstream receives. */
function sentBytes(body: Item, decoded: DecodedResponsesRequest): number {
  const sent = selfContainedBody(checkResponsesBody(body), decoded, decoded.items);
  return textsOf({ input: sent['input'] }).reduce((bytes, member) => bytes + Buffer.byteLength(member), 0);
}

describe('the response input that is sent to an upstream', () => {
  it('has no more bytes than the tokens of its hold, with a tokenizer or without', async () => {
    await fc.assert(
      fc.asyncProperty(input, async (items) => {
        const body = { model: MODEL.name, input: items };
        const decoded = decode(body);
        const counted = await countInputTokens(decoded.request);
        const bytes = sentBytes(body, decoded);

        const bound = await boundInputTokens(decoded.request, {}, MODEL, counted);
        assert.ok(bytes <= bound, `${bytes} bytes sent, ${bound} tokens held`);

        const sealed = decoded.items.reduce(
          (sum, item) => sum + (item.type === 'reasoning' ? (item.encrypted_content?.length ?? 0) : 0),
          0,
        );
        const withTokenizer = await boundInputTokens(decoded.request, {}, WITH_TOKENIZER, counted);
        assert.ok(sealed <= withTokenizer, `${sealed} letters of sealed reasoning sent, ${withTokenizer} tokens held`);
      }),
      { numRuns: 200 },
    );
  });

  it('omits reasoning that nothing follows, which is not counted', () => {
    const content = [{ type: 'reasoning_text', text: 'a thought '.repeat(100_000) }];
    const body = {
      model: MODEL.name,
      input: [
        { type: 'reasoning', content },
        { role: 'user', content: 'hi' },
      ],
    };

    assert.equal(sentBytes(body, decode(body)), 2);
  });

  it('omits the turns that do not fit', async () => {
    const long = 'word '.repeat(1_000);
    const turns = ['one', 'two', 'three'].map((name) => ({ role: 'user', content: `${name} ${long}` }));
    const body = { model: MODEL.name, input: turns, truncation: 'auto' };

    const fitted = await fitConversation(decode(body), 2_500);

    assert.equal(fitted.request.messages.length, 2);
    assert.equal(sentBytes(body, fitted), Buffer.byteLength(`two ${long}three ${long}`));
  });
});
