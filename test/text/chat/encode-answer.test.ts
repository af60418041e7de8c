/** A chat answer, streamed and not: two renderings of the same events, in any order. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createChatEncoder } from '../../../src/text/chat/encode-answer.ts';
import type { TextProblem } from '../../../src/text/encoder.ts';
import type { FinishReason, TextEvent } from '../../../src/text/source.ts';
import type { BilledUsage } from '../../../src/text/tally.ts';

const META = { id: 'chatcmpl-1', created: 1_795_000_000, model: 'acme/text', choices: 1, includesUsage: false };
const USAGE: BilledUsage = {
  inputTokens: 5,
  cachedInputTokens: 2,
  outputTokens: 7,
  reasoningTokens: 3,
  isEstimated: false,
};

interface Delta {
  readonly role?: string;
  readonly content?: string;
  readonly refusal?: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    index: number;
    id?: string;
    type?: string;
    function: { name?: string; arguments?: string };
  }[];
}
interface Chunk {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly { index: number; delta: Delta; logprobs: unknown; finish_reason: string | null }[];
  readonly usage?: unknown;
}
interface Completion {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly refusal: string | null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly { id: string; type: string; function: { name: string; arguments: string } }[];
    };
    readonly logprobs: unknown;
    readonly finish_reason: string;
  }[];
  readonly usage: unknown;
}

function parse(frames: readonly string[]): readonly Chunk[] {
  return frames.map((frame) => {
    assert.match(frame, /^data: [^\n]*\n\n$/);
    return JSON.parse(frame.slice(6)) as Chunk;
  });
}

function render(events: readonly TextEvent[], changes: Partial<typeof META> = {}) {
  const encoder = createChatEncoder({ ...META, ...changes });
  const frames = [...encoder.begin()];
  for (const event of events) frames.push(...encoder.next(event));
  frames.push(...encoder.end(USAGE));
  return { chunks: parse(frames), answer: encoder.answer() as unknown as Completion };
}

const text = (words: string, choice = 0): TextEvent => ({ type: 'text', choice, text: words });
const call = (index: number, id: string, name = 'f'): TextEvent => ({ type: 'tool_call', choice: 0, index, id, name });
const args = (index: number, words: string): TextEvent => ({ type: 'tool_arguments', choice: 0, index, text: words });
const finish = (reason: FinishReason = 'stop', choice = 0): TextEvent => ({ type: 'finish', choice, reason });

describe('a chat answer', () => {
  it('begins with the role, has a delta for each event, and ends with the finish reason', () => {
    const { chunks, answer } = render([text('Hel'), text('lo'), finish()]);

    assert.deepEqual(
      chunks.map(({ choices }) => [choices[0]?.delta, choices[0]?.finish_reason]),
      [
        [{ role: 'assistant', content: '', refusal: null }, null],
        [{ content: 'Hel' }, null],
        [{ content: 'lo' }, null],
        [{}, 'stop'],
      ],
    );
    for (const { choices: _, ...head } of chunks) {
      assert.deepEqual(head, {
        id: META.id,
        object: 'chat.completion.chunk',
        created: META.created,
        model: META.model,
      });
    }
    assert.deepEqual(answer, {
      id: META.id,
      object: 'chat.completion',
      created: META.created,
      model: META.model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello', refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 7,
        total_tokens: 12,
        prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 3,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
    });
  });

  it('reports usage in a chunk of its own, when requested', () => {
    const { chunks, answer } = render([text('x'), finish()], { includesUsage: true });

    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.deepEqual(chunks.at(-1)?.usage, answer.usage);
    assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
    assert.ok(render([text('x'), finish()]).chunks.every((chunk) => !('usage' in chunk)));
  });

  it('separates reasoning from text, and a cap used up by reasoning leaves the answer empty', () => {
    const { chunks, answer } = render([{ type: 'reasoning', choice: 0, text: 'hm' }, finish('length')]);

    assert.deepEqual(chunks[1]?.choices[0]?.delta, { reasoning_content: 'hm' });
    assert.deepEqual(answer.choices[0]?.message, {
      role: 'assistant',
      content: '',
      refusal: null,
      annotations: [],
      reasoning_content: 'hm',
    });
    assert.equal(answer.choices[0]?.finish_reason, 'length');
  });

  it('has calls with their arguments in pieces, several in parallel too', () => {
    const { chunks, answer } = render([
      text('One moment.'),
      call(0, 'call_a', 'first'),
      call(1, 'call_b', 'second'),
      args(1, '{"b"'),
      args(0, '{}'),
      args(1, ':1}'),
      finish('tool_calls'),
    ]);

    assert.deepEqual(chunks[2]?.choices[0]?.delta, {
      tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'first', arguments: '' } }],
    });
    assert.deepEqual(chunks[4]?.choices[0]?.delta, { tool_calls: [{ index: 1, function: { arguments: '{"b"' } }] });
    assert.deepEqual(answer.choices[0]?.message.tool_calls, [
      { id: 'call_a', type: 'function', function: { name: 'first', arguments: '{}' } },
      { id: 'call_b', type: 'function', function: { name: 'second', arguments: '{"b":1}' } },
    ]);
    assert.equal(answer.choices[0]?.message.content, 'One moment.');
  });

  it('has no content when there are only calls, or a refusal', () => {
    assert.equal(render([call(0, 'call_a'), finish('tool_calls')]).answer.choices[0]?.message.content, null);
    const refused = render([{ type: 'refusal', choice: 0, text: 'No.' }, finish()]).answer.choices[0]?.message;
    assert.deepEqual([refused?.content, refused?.refusal], [null, 'No.']);
    assert.equal(render([finish('length')]).answer.choices[0]?.message.content, '');
  });

  it('separates interleaved choices', () => {
    const { chunks, answer } = render(
      [text('a', 0), text('x', 1), text('b', 0), finish('stop', 0), finish('length', 1)],
      {
        choices: 2,
      },
    );
    assert.deepEqual(
      chunks.slice(0, 2).map(({ choices }) => choices[0]?.index),
      [0, 1],
    );
    assert.deepEqual(
      answer.choices.map(({ message, finish_reason: reason }) => [message.content, reason]),
      [
        ['ab', 'stop'],
        ['x', 'length'],
      ],
    );
  });

  it('returns log probabilities beside the text, the same streamed and not', () => {
    const token = { token: 'hi', logprob: -0.1, bytes: [104, 105], alternatives: [] };
    const { chunks, answer } = render([{ type: 'text', choice: 0, text: 'hi', logprobs: [token] }, finish()]);
    const expectedLogprobs = {
      content: [{ token: 'hi', logprob: -0.1, bytes: [104, 105], top_logprobs: [] }],
      refusal: null,
    };

    assert.deepEqual(chunks[1]?.choices[0]?.logprobs, expectedLogprobs);
    assert.deepEqual(answer.choices[0]?.logprobs, expectedLogprobs);
  });

  it('ends with an error that both kinds of client can read', () => {
    const problem: TextProblem = {
      status: 503,
      errorCode: 'SERVICE_UNAVAILABLE',
      message: 'away',
      type: 'server_error',
      code: 'upstream_timeout',
      param: null,
    };
    const [frame] = createChatEncoder(META).fail(problem);
    assert.deepEqual(JSON.parse(frame?.slice(6) ?? ''), {
      code: 503,
      message: 'away',
      data: null,
      error_code: 'SERVICE_UNAVAILABLE',
      error: { message: 'away', type: 'server_error', param: null, code: 'upstream_timeout' },
    });
  });

  it('is the same assembled from its chunks as it is whole, in any order of events', () => {
    const piece = fc.string({ maxLength: 8 });
    const said = fc.oneof(
      fc.record({ type: fc.constant('text' as const), choice: fc.constant(0), text: piece }),
      fc.record({ type: fc.constant('reasoning' as const), choice: fc.constant(0), text: piece }),
      fc.record({ type: fc.constant('refusal' as const), choice: fc.constant(0), text: piece }),
      fc.record({
        type: fc.constant('tool_arguments' as const),
        choice: fc.constant(0),
        index: fc.nat({ max: 1 }),
        text: piece,
      }),
    );
    const calls = [0, 1].map((index) => call(index, `c${index}`));
    fc.assert(
      fc.property(fc.array(said), (events) => {
        const { chunks, answer } = render([...calls, ...events, finish()]);
        const deltas = chunks.map(({ choices }) => choices[0]?.delta ?? {});
        const joined = (read: (delta: Delta) => string | null | undefined): string =>
          deltas.map((delta) => read(delta) ?? '').join('');
        const message = answer.choices[0]?.message;
        assert.equal(
          joined(({ content }) => content),
          message?.content ?? '',
        );
        assert.equal(
          joined(({ refusal }) => refusal),
          message?.refusal ?? '',
        );
        assert.equal(
          joined((delta) => delta.reasoning_content),
          message?.reasoning_content ?? '',
        );
        for (const index of [0, 1]) {
          const pieces = deltas.flatMap((delta) => delta.tool_calls ?? []).filter((call) => call.index === index);
          assert.equal(
            pieces.map((call) => call.function.arguments ?? '').join(''),
            message?.tool_calls?.[index]?.function.arguments,
          );
        }
      }),
    );
  });
});
