/** Streams that deviate from OpenAI's document, and what a client of chat completions receives instead. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { TextModelDefinition } from '../../../src/catalogue/text-definition.ts';
import type { Json } from './scripted-answers.ts';
import { startTestUpstream } from './test-upstream.ts';
import type { TestUpstream } from './test-upstream.ts';
import {
  chatCall,
  choiceOf,
  dataOf,
  framesOf,
  openBench,
  openaiUpstream,
  saidIn,
  textModel,
} from './upstream-bench.ts';
import type { Bench } from './upstream-bench.ts';

describe('deviations from the chat completions protocol', () => {
  let upstream: TestUpstream;
  let bench: Bench;
  let model: TextModelDefinition;
  before(async () => {
    upstream = await startTestUpstream();
    model = textModel([openaiUpstream(upstream.baseUrl)]);
  });
  after(() => upstream.close());
  beforeEach(() => {
    bench = openBench();
  });
  afterEach(() => bench.router.close());

  const streamed = async (): Promise<{ chunks: Json[] }> => {
    const frames = await framesOf(bench.router, await chatCall(model, { stream: true }));
    return { chunks: frames.map(dataOf) };
  };
  const chunk = (delta: Json, finish?: unknown): Json => ({
    choices: [{ index: 0, delta, ...(finish === undefined ? {} : { finish_reason: finish }) }],
  });
  const deltasOf = (chunks: readonly Json[]): unknown[] =>
    chunks.flatMap(({ choices }) => (choices as { delta: { tool_calls?: unknown[] } }[])[0]?.delta.tool_calls ?? []);

  it('an end without [DONE] is accepted, when every choice has ended', async () => {
    upstream.script({ withoutDone: true });
    const { chunks } = await streamed();
    assert.equal(saidIn(chunks), 'Hello, wörld 🌍!');
  });

  it('a missing finish reason is added', async () => {
    upstream.script({ events: [chunk({ content: 'So' }, null), '[DONE]'] });
    const { chunks } = await streamed();
    assert.deepEqual(chunks.at(-1)?.['choices'], [{ index: 0, delta: {}, finish_reason: 'stop' }]);
  });

  it('finish reasons that OpenAI does not have', async () => {
    for (const [theirs, ours] of [
      ['', null],
      ['eos', 'stop'],
      ['max_tokens', 'length'],
      ['function_call', 'tool_calls'],
      ['SAFETY', 'content_filter'],
    ]) {
      upstream.script({ events: [chunk({ content: 'So' }, theirs), '[DONE]'] });
      const { chunks } = await streamed();
      assert.equal(choiceOf(chunks[0])['finish_reason'], ours, String(theirs));
    }
  });

  it('calls without index, type or id, and repeated ids', async () => {
    upstream.script({
      events: [
        chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] }),
        chunk({ tool_calls: [{ function: { name: 'g', arguments: '{' } }] }),
        chunk({ tool_calls: [{ function: { arguments: '}' } }] }),
        chunk({}, 'tool_calls'),
        '[DONE]',
      ],
    });
    const [first, second, third] = deltasOf((await streamed()).chunks) as { id: string }[];
    assert.deepEqual(first, { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } });
    const { id = '', ...rest } = second ?? {};
    assert.match(id, /^call_\w{24}$/);
    assert.deepEqual(rest, { index: 1, type: 'function', function: { name: 'g', arguments: '{' } });
    assert.deepEqual(third, { index: 1, function: { arguments: '}' } });

    upstream.script({
      events: [
        chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] }, null),
        chunk(
          { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
          null,
        ),
        chunk({}, 'tool_calls'),
      ],
    });
    assert.deepEqual(deltasOf((await streamed()).chunks)[1], { index: 0, function: { arguments: '{}' } });
  });

  it('calls that all have the index 0', async () => {
    upstream.script({
      events: [
        chunk(
          { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
          null,
        ),
        chunk(
          { tool_calls: [{ index: 0, id: 'b', type: 'function', function: { name: 'f', arguments: '{}' } }] },
          null,
        ),
        chunk({}, 'stop'),
      ],
    });
    const calls = deltasOf((await streamed()).chunks) as { index: number; id: string }[];
    assert.deepEqual(
      calls.map(({ index, id }) => [index, id]),
      [
        [0, 'a'],
        [1, 'b'],
      ],
    );
  });

  it('an event that spans lines, chunks without choices, and event names', async () => {
    const spread = JSON.stringify(chunk({ content: 'So\nit is' }, null), undefined, 2);
    const lines = spread.split('\n').map((line) => `data: ${line}\r\n`);
    upstream.script({
      bytes: Buffer.from(
        [
          '\uFEFF: hello\r\n\r\n',
          'data:{"choices":[],"prompt_filter_results":[]}\r\n\r\n',
          'event: ping\ndata: {}\n\n',
          ...lines,
          '\r\n',
          'event:message\rdata:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\r',
          'retry: 10\nid: 7\ndata: [DONE]',
        ].join(''),
      ),
    });
    const { chunks } = await streamed();
    assert.equal(saidIn(chunks), 'So\nit is');
    assert.equal(chunks.length, 2);
  });

  it('an event of some megabytes', async () => {
    const long = 'x'.repeat(3 * 1024 * 1024);
    upstream.script({ events: [chunk({ content: long }, null), chunk({}, 'stop'), '[DONE]'] });
    const { chunks } = await streamed();
    assert.equal(saidIn(chunks).length, long.length);
  });
});
