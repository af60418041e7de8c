/** Counting tokens: correct for common texts, and fast for texts that are designed to be slow. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { TextRequest } from '../../src/text/request.ts';
import type { TokenUsage } from '../../src/text/source.ts';
import { Tally } from '../../src/text/tally.ts';
import { countInputTokens, countTextTokens, loadTokenizer } from '../../src/text/tokens.ts';

before(() => loadTokenizer());

const request = (changes: Partial<TextRequest> = {}) =>
  ({ messages: [], tools: [], format: { type: 'text' }, ...changes }) satisfies Partial<TextRequest>;

describe('the number of tokens', () => {
  it('of a text is that of the tokenizer', () => {
    assert.equal(countTextTokens(''), 0);
    assert.equal(countTextTokens('hello world'), 2);
    assert.equal(countTextTokens('<|endoftext|>') > 1, true);
  });

  it('of words of any length is found in time that grows with their length', () => {
    // As a single word, this takes minutes.
    const tokens = countTextTokens('ab'.repeat(200_000));
    assert.ok(tokens > 10_000 && tokens <= 400_000, String(tokens));
    assert.ok(countTextTokens('漢字'.repeat(50_000)) > 50_000);
    assert.ok(countTextTokens(' '.repeat(200_000)) > 0);
  });

  it('is not counted beyond the limit that matters', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(2_000_000) }] }] as const;
    const tokens = await countInputTokens(request({ messages }), 10_000);
    assert.ok(tokens > 10_000 && tokens < 20_000, String(tokens));
  });

  it('of a request counts everything that is sent', async () => {
    const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] }) as const;
    const empty = await countInputTokens(request());
    const one = await countInputTokens(request({ messages: [user('hello world')] }));
    assert.equal(one, empty + 3 + 2);

    const larger: readonly Partial<TextRequest>[] = [
      { messages: [user('hello world'), user('hello world')] },
      { messages: [{ ...user('hello world'), name: 'Ada' }] },
      { messages: [user('hello world')], tools: [{ name: 'f', parameters: { type: 'object' } }] },
      {
        messages: [user('hello world')],
        format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true },
      },
      {
        messages: [
          { role: 'user', content: [...user('hello world').content, { type: 'image', url: 'https://x/y.png' }] },
        ],
      },
      {
        messages: [
          user('hello world'),
          { role: 'assistant', content: [], toolCalls: [{ id: 'a', name: 'f', arguments: '{}' }], reasoning: 'hm' },
        ],
      },
    ];
    for (const changes of larger) assert.ok((await countInputTokens(request(changes))) > one, JSON.stringify(changes));
  });
});

describe('a tally', () => {
  it('counts what was generated until the source reports its own count', () => {
    const tally = new Tally(11);
    tally.addOutput('hello ');
    tally.addOutput('world');
    tally.addReasoning('hm');
    assert.deepEqual(tally.usage(), {
      inputTokens: 11,
      cachedInputTokens: 0,
      outputTokens: 3,
      reasoningTokens: 1,
      isEstimated: true,
    });
    tally.report({ inputTokens: 12, cachedInputTokens: 4, outputTokens: 5, reasoningTokens: 2 });
    assert.deepEqual(tally.usage(), {
      inputTokens: 12,
      cachedInputTokens: 4,
      outputTokens: 5,
      reasoningTokens: 2,
      isEstimated: false,
    });
  });

  it('takes its own count in place of a report that the request cannot have used', () => {
    const most = { inputTokens: 100, outputTokens: 10 };
    const usageOf = (changes: Partial<TokenUsage>) => {
      const tally = new Tally(11, most);
      tally.addOutput('hello world');
      tally.addReasoning('hm');
      tally.report({ inputTokens: 12, cachedInputTokens: 4, outputTokens: 5, reasoningTokens: 2, ...changes });
      const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens, isEstimated } = tally.usage();
      assert.equal(tally.wrongReport !== undefined, isEstimated);
      return [inputTokens, cachedInputTokens, outputTokens, reasoningTokens, isEstimated];
    };
    assert.deepEqual(usageOf({}), [12, 4, 5, 2, false]);
    assert.deepEqual(usageOf({ inputTokens: 200, outputTokens: 20 }), [200, 4, 20, 2, false]);
    assert.deepEqual(usageOf({ inputTokens: 201 }), [11, 0, 5, 2, true]);
    assert.deepEqual(usageOf({ outputTokens: 21 }), [12, 0, 3, 1, true]);
    assert.deepEqual(usageOf({ inputTokens: 1e15, outputTokens: 1e15, reasoningTokens: 1e15 }), [11, 0, 3, 1, true]);
  });

  it('believes what was streamed beyond the cap', () => {
    const tally = new Tally(11, { inputTokens: 100, outputTokens: 1 });
    tally.addOutput(' word'.repeat(50));
    tally.report({ inputTokens: 12, cachedInputTokens: 0, outputTokens: 52, reasoningTokens: 0 });
    assert.deepEqual([tally.usage().outputTokens, tally.usage().isEstimated], [52, false]);
  });

  it('uses little memory for a long answer', () => {
    const tally = new Tally(0);
    for (let piece = 0; piece < 20_000; piece++) tally.addOutput(' word');
    assert.equal(tally.usage().outputTokens, 20_000);
  });

  it('estimates what is too long to count from its beginning', () => {
    const tally = new Tally(0);
    tally.addOutput(' word'.repeat(1_000_000));
    assert.equal(Math.round(tally.usage().outputTokens / 10_000), 100);
    assert.equal(tally.usage().outputTokens, tally.usage().outputTokens);
  });
});
