/**
 * In whatever order events come, a response's stream can be read by the strictest client and its object has the same
 * content.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FinishReason, TextEvent } from '../../../src/text/source.ts';
import { DeltaRecorder, cutsToStore, replayFrames } from '../../../src/text/responses/replay.ts';
import { PROBLEM, answerOf, args, call, finish, readStrictly, reasoning, refusal, text } from './answers.ts';
import type { StreamAnswer, StreamEvent } from './answers.ts';
import { responseProblem } from './response-schema.ts';

const word = fc.oneof(
  fc.constantFrom('', 'Hi', ' there', '\u0000', '\ud83d', '\ude00', '\n\ndata: x\n\n', '"'),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const piece = fc.oneof(fc.constantFrom('{', '}', '{}', '{"a":1}', '"', '\\', '[', ']', ' ', '1', ''), word);
const index = fc.nat({ max: 2 });

const said: fc.Arbitrary<TextEvent> = fc.oneof(
  { weight: 3, arbitrary: word.map((value) => text(value)) },
  { weight: 2, arbitrary: word.map(reasoning) },
  { weight: 1, arbitrary: word.map(refusal) },
  { weight: 3, arbitrary: fc.tuple(index, fc.constantFrom('f', 'g')).map(([at, name]) => call(at, name)) },
  { weight: 5, arbitrary: fc.tuple(index, piece).map(([at, value]) => args(at, value)) },
  { weight: 1, arbitrary: fc.constant<TextEvent>({ type: 'text', choice: 1, text: 'of another answer' }) },
);
const reason = fc.constantFrom<FinishReason[]>('stop', 'length', 'tool_calls', 'content_filter');
const parameters = fc.constantFrom<Readonly<Record<string, unknown>>[]>(
  {},
  { reasoning: { summary: 'auto' } },
  { include: ['reasoning.encrypted_content'] },
);

/** The content of the events of a kind, in their order. */
function saidBy(events: readonly TextEvent[], type: 'text' | 'reasoning' | 'refusal'): string {
  return events.map((event) => (event.type === type && event.choice === 0 ? event.text : '')).join('');
}

interface StreamedPart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
}

/** The content of an answer's object in parts of a kind, in their order. */
function textOf(answer: StreamAnswer, type: 'output_text' | 'summary_text' | 'refusal'): string {
  let whole = '';
  for (const { content = [], summary = [] } of answer.output) {
    for (const part of [...(content as StreamedPart[]), ...(summary as StreamedPart[])]) {
      if (part.type === type) whole += part.text ?? part.refusal ?? '';
    }
  }
  return whole;
}

describe('a response of any events', () => {
  // Proves C9-4, C9-5.
  it('has items that never overlap, increasing sequence numbers, and an object that matches the stream', () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 40 }), reason, parameters, (events, why, asked) => {
        const { events: stream, answer } = answerOf([...events, finish(why)], asked);

        const { done, open } = readStrictly(stream);
        assert.equal(open, undefined);
        assert.deepEqual(done, answer.output);
        assert.deepEqual(stream.at(-1)?.['response'], JSON.parse(JSON.stringify(answer)));
        assert.equal(responseProblem(answer), undefined);
        assert.equal(textOf(answer, 'output_text'), saidBy(events, 'text'));
        assert.equal(textOf(answer, 'refusal'), saidBy(events, 'refusal'));
        assert.equal(textOf(answer, 'summary_text'), saidBy(events, 'reasoning'));
        const begun = events.filter(({ type }) => type === 'tool_call');
        assert.equal(answer.output.filter(({ type }) => type === 'function_call').length, begun.length);
        const ids = answer.output.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length);
        const cut = answer.output.filter((item) => item['status'] !== 'completed');
        assert.ok(cut.length <= (answer.status === 'incomplete' ? 1 : 0));
      }),
      { numRuns: 1_000 },
    );
  });

  // Proves C9-5.
  it('can be streamed again from what is stored, event by event', () => {
    const token = { token: 'x', logprob: -1, bytes: null, alternatives: [] };
    const spoken = fc.tuple(word, fc.nat({ max: 3 })).map(([value, n]) =>
      text(
        value,
        Array.from({ length: n }, () => token),
      ),
    );
    const anything = fc.array(fc.oneof(said, spoken), { maxLength: 40 });
    const shown = fc.oneof(parameters, fc.constant({ include: ['message.output_text.logprobs'] }));
    fc.assert(
      fc.property(anything, reason, shown, fc.nat({ max: 60 }), (events, why, asked, startingAfter) => {
        const deltas = new DeltaRecorder();
        const { frames, answer } = answerOf([...events, finish(why)], asked, { deltas });
        const cuts = cutsToStore(answer, deltas);

        assert.ok(cuts);
        // As they are stored.
        const kept = JSON.parse(JSON.stringify({ cuts, answer })) as { cuts: typeof cuts; answer: typeof answer };
        const parsed = (lines: Iterable<string>): unknown[] =>
          [...lines].map((frame) => JSON.parse(frame.replace(/^event: .*\ndata: /, '')) as unknown);
        assert.deepEqual(parsed(replayFrames(kept.answer, kept.cuts)), parsed(frames));
        const rest = replayFrames(kept.answer, kept.cuts, startingAfter);
        assert.deepEqual(parsed(rest), parsed(frames.slice(startingAfter + 1)));
        // Without the cuts there are fewer events, with the same content.
        const again = parsed(replayFrames(kept.answer, {})) as StreamEvent[];
        assert.deepEqual(readStrictly(again).done, answer.output);
      }),
      { numRuns: 500 },
    );
  });

  it('preserves every argument of parallel calls', () => {
    const object = fc.object({ maxDepth: 2, maxKeys: 4 }).map((value) => JSON.stringify({ value }));
    const pieces = fc.array(fc.tuple(index, fc.nat({ max: 8 })), { maxLength: 60 });
    fc.assert(
      fc.property(fc.tuple(object, object, object), pieces, (wanted, cuts) => {
        const left = [...wanted];
        const events = [call(0, 'f'), call(1, 'f'), call(2, 'f')];
        for (const [at, length] of cuts) {
          events.push(args(at, (left[at] ?? '').slice(0, length)));
          left[at] = (left[at] ?? '').slice(length);
        }
        left.forEach((rest, at) => events.push(args(at, rest)));

        const { events: stream, answer } = answerOf([...events, finish('tool_calls')]);

        readStrictly(stream);
        assert.deepEqual(
          answer.output.map((item) => item['arguments']),
          wanted,
        );
      }),
    );
  });

  it('can be interrupted at any event, and then reports that', () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 40 }), parameters, (events, asked) => {
        const { events: stream, answer } = answerOf(events, asked, { problem: PROBLEM });

        const { done, open } = readStrictly(stream);
        assert.deepEqual(done, answer.output.slice(0, done.length));
        assert.equal(answer.output.length, done.length + (open === undefined ? 0 : 1));
        assert.equal(answer.status, 'failed');
        assert.equal(responseProblem(answer), undefined);
        assert.deepEqual(
          stream.slice(-2).map(({ type }) => type),
          ['error', 'response.failed'],
        );
      }),
    );
  });
});
