/**
 * How streams are parsed, whatever pieces their bytes are cut into, and events that are decoded as they were encoded.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createChatEncoder } from '../../../src/text/chat/encode-answer.ts';
import type { FinishReason, TextEvent, TextCall } from '../../../src/text/source.ts';
import { Tally } from '../../../src/text/tally.ts';
import { TextFailure } from '../../../src/text/text-failure.ts';
import { ChatFrames } from '../../../src/text/upstream/chat-answer.ts';
import { ChatEvents } from '../../../src/text/upstream/decode-chat-stream.ts';
import { EventSplitter } from '../../../src/text/upstream/event-stream.ts';
import { findMember } from '../../../src/text/upstream/chunk-template.ts';
import { ResponsesFrames } from '../../../src/text/upstream/responses-answer.ts';
import type { StreamReader } from '../../../src/text/upstream/event-stream.ts';
import { HELLO, chatChunks, responseEvents } from './scripted-answers.ts';
import { streamBytes } from './test-upstream.ts';
import { chatCall, dataOf, openaiUpstream, responsesCall, textModel } from './upstream-bench.ts';

type Event = readonly [string | undefined, string];

function split(pieces: readonly Buffer[]): Event[] {
  const events: Event[] = [];
  const splitter = new EventSplitter((name, data) => events.push([name, data]));
  for (const piece of pieces) splitter.push(piece);
  splitter.end();
  return events;
}

const bytewise = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...offsets].map((from, index) => bytes.subarray(from, offsets[index] ?? bytes.length));
}

function unicode(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Arbitrary positions in some kilobytes. */
const cuts = fc.array(fc.nat(100_000), { maxLength: 60 });
const lineEnd = fc.constantFrom('\n' as const, '\r\n' as const, '\r' as const);

describe('server-sent events', () => {
  it('are parsed in any framing', () => {
    const unnamed = (...texts: readonly string[]): Event[] => texts.map((text) => [undefined, text]);
    for (const [text, events] of [
      ['data: a\n\ndata:b\n\n', unnamed('a', 'b')],
      ['data: a\r\n\r\ndata:  b\r\n\r\n', unnamed('a', ' b')],
      ['data: a\r\rdata\r\r', unnamed('a', '')],
      [': comment\n\ndata: a\n:\ndata: b\n\n', unnamed('a\nb')],
      ['event: x\nid: 1\nretry: 3\ndata: a\n\nevent: y\n\ndata: b\n\n', [['x', 'a'], ...unnamed('b')]],
      ['\uFEFFdata: a\n\n\n\n\ndata: b', unnamed('a', 'b')],
      ['data: a\ndatabase: x\n data: y\nunknown\n\n', unnamed('a')],
      ['', []],
      ['\n\n', []],
    ] as const) {
      const bytes = Buffer.from(text);
      for (const pieces of [[bytes], bytewise(bytes)]) assert.deepEqual(split(pieces), events, JSON.stringify(text));
    }
  });

  it('are the same however their bytes are split', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replaceAll(/[\r\n]/g, ' '));
    const stream = fc.array(
      fc.tuple(fc.constantFrom('data: ', 'data:', 'event: ', ':', 'id: ', ''), line, lineEnd, fc.boolean()),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(stream, cuts, (lines, offsets) => {
        const text = lines.map(([field, value, end, isLast]) => `${field}${value}${end}${isLast ? end : ''}`).join('');
        const bytes = Buffer.from(text);
        const whole = split([bytes]);
        assert.deepEqual(split(cutAt(bytes, offsets)), whole);
        assert.deepEqual(split(bytewise(bytes)), whole);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a member of a JSON text', () => {
  it('is found in any JSON, and is the one that parsing finds', () => {
    const spacing = fc.constantFrom(undefined, 1, '\t');
    const object = fc.dictionary(fc.constantFrom('choices', 'model', 'id', 'cho"ices', '\\', 'x'), fc.jsonValue());
    fc.assert(
      fc.property(
        fc.array(object, { minLength: 1, maxLength: 3 }),
        spacing,
        fc.boolean(),
        (objects, space, isEscaped) => {
          // Members may be duplicated, and keys may be spelled with escapes.
          const members = objects
            .map((each) => JSON.stringify(each, undefined, space).slice(1, -1))
            .filter((text) => text.trim() !== '');
          const plain = ` {${members.join(',')}} `;
          const text = isEscaped ? plain.replaceAll(/"choices"(?=\s*:)/g, '"c\\u0068oices"') : plain;
          const parsed = JSON.parse(text) as Record<string, unknown>;
          const span = findMember(text, 'choices');
          assert.equal(span !== undefined, 'choices' in parsed);
          if (span === undefined) return;
          assert.deepEqual(JSON.parse(text.slice(span.from, span.to)), parsed['choices']);
          assert.equal(text.slice(span.from, span.to).trim(), text.slice(span.from, span.to));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('a stream to the client', () => {
  const model = textModel([openaiUpstream('http://localhost/v1', { apis: ['chat.completions', 'responses'] })]);
  let chat: TextCall;
  let responses: TextCall;
  before(async () => {
    chat = await chatCall(model, { stream: true, stream_options: { include_usage: true } });
    responses = await responsesCall(model, { stream: true });
  });

  function read<T>(reader: StreamReader<T>, pieces: readonly Buffer[]): T[] {
    const taken: T[] = [];
    const emit = (piece: T): void => void taken.push(piece);
    const splitter = new EventSplitter((name, data) => reader.read(name, data, emit));
    for (const piece of pieces) splitter.push(piece);
    splitter.end();
    reader.end(emit);
    return taken;
  }
  const anew = (call: TextCall): TextCall => ({ ...call, tally: new Tally(5) });

  // Proves C9-7.
  it('has the same frames and the same count whatever the framing and however its bytes are split', () => {
    const reply = {
      ...HELLO,
      reasoning: ['Hm', ' … '],
      toolCalls: [{ id: 'call_a', name: 'f', pieces: ['{"é":', '"🌍"}'] }],
    };
    const streams: readonly (readonly [readonly unknown[], () => StreamReader<string>, TextCall])[] = [
      [[...chatChunks(reply, { reasoningField: 'reasoning' }), '[DONE]'], () => new ChatFrames(anew(chat)), chat],
      [responseEvents(HELLO), () => new ResponsesFrames(anew(responses), () => 0), responses],
    ];
    for (const [events, reader] of streams) {
      const expected = read(reader(), [streamBytes({}, events)]);
      assert.ok(expected.length > 5);
      fc.assert(
        fc.property(lineEnd, fc.boolean(), cuts, (end, comments, offsets) => {
          const bytes = streamBytes({ lineEnd: end, comments }, events);
          assert.deepEqual(read(reader(), cutAt(bytes, offsets)), expected);
        }),
        { numRuns: 100 },
      );
      const bytes = streamBytes({ lineEnd: '\r\n' }, events);
      assert.deepEqual(read(reader(), bytewise(bytes)), expected);
    }
  });

  /** Objects with the usual prototype. */
  const PLAIN = { noNullPrototype: true };

  /** The events of a choice, in the order in which a model sends them. */
  const said = (choice: number): fc.Arbitrary<TextEvent[]> => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
    const type = fc.constantFrom('text' as const, 'refusal' as const, 'reasoning' as const);
    const alternatives = [{ token: 'b', logprob: -2, bytes: null }];
    const logprobs = [{ token: 'a', logprob: -0.5, bytes: [97], alternatives }];
    const talk = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(type, text).map(([type, text]): TextEvent => ({ type, choice, text })) },
      { weight: 1, arbitrary: text.map((text): TextEvent => ({ type: 'text', choice, text, logprobs })) },
    );
    const dictated = fc.array(fc.tuple(fc.nat(3), text), { maxLength: 8 });
    const reason = fc.constantFrom<FinishReason>('length', 'content_filter', 'tool_calls');
    return fc
      .tuple(fc.array(talk, { maxLength: 8 }), fc.nat(3), dictated, reason)
      .map(([talks, calls, pieces, finish]) => [
        ...talks,
        ...Array.from({ length: calls }, (_, index): TextEvent => ({
          type: 'tool_call',
          choice,
          index,
          id: `c${index}`,
          name: `f${index}`,
        })),
        ...pieces.flatMap(([index, piece]): TextEvent[] =>
          index < calls ? [{ type: 'tool_arguments', choice, index, text: piece }] : [],
        ),
        { type: 'finish', choice, reason: finish },
      ]);
  };
  const usage = fc.record(
    {
      inputTokens: fc.integer({ min: 50, max: 99 }),
      cachedInputTokens: fc.nat(49),
      outputTokens: fc.integer({ min: 50, max: 99 }),
      reasoningTokens: fc.nat(49),
    },
    PLAIN,
  );

  it('is decoded to the events that it was encoded from', () => {
    const answer = fc.tuple(said(0), said(1), fc.option(usage, { nil: undefined }), cuts);
    fc.assert(
      fc.property(answer, ([one, other, counted, offsets]) => {
        const events = [...one, ...other];
        const encoder = createChatEncoder({
          id: 'x',
          created: 1,
          model: 'm',
          choices: 2,
          includesUsage: counted !== undefined,
        });
        const frames = [
          ...encoder.begin(),
          ...events.flatMap((event) => encoder.next(event)),
          ...(counted === undefined ? [] : encoder.end({ ...counted, isEstimated: false })),
          'data: [DONE]\n\n',
        ];
        const expected: TextEvent[] = counted === undefined ? events : [...events, { type: 'usage', usage: counted }];
        assert.deepEqual(read(new ChatEvents(2), cutAt(Buffer.from(frames.join('')), offsets)), expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is passed on the same whether a chunk resembles the previous one or not', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.constantFrom('"', '\\', 'a","x":"b', '"}}]', '\n', '\u2028', '\u0007', 'finish_reason":null'),
    );
    const form = fc.constantFrom('content', 'reasoning_content', 'refusal');
    const chunk = fc.tuple(text, form, fc.boolean(), fc.constantFrom('', ' ', '\t'));
    fc.assert(
      fc.property(fc.array(chunk, { minLength: 1, maxLength: 30 }), (chunks) => {
        const choices = chunks.map(([said, field, isEscaped, blank]) => {
          const string = JSON.stringify(said);
          const spelled = isEscaped && !string.includes('\\') ? string.replaceAll(/[a-z]/g, unicode) : string;
          return `[{"index":0,"delta":{"${field}":${blank}${spelled}},"finish_reason":null}]`;
        });
        const call = anew(chat);
        const frames = read(new ChatFrames(call), [
          Buffer.from(
            [...choices.map((text) => `data: {"id":"x","choices":${text},"model":"y"}\n\n`), 'data: [DONE]\n\n'].join(
              '',
            ),
          ),
        ]);
        const head = `data: {"id":"${chat.id}","object":"chat.completion.chunk","created":${chat.createdAt},"model":"${model.name}"`;
        assert.deepEqual(
          frames.slice(0, choices.length),
          choices.map((text) => `${head},"choices":${text},"usage":null}\n\n`),
        );
        const expected = new Tally(5);
        for (const [said, field] of chunks) {
          if (field === 'reasoning_content') expected.addReasoning(said);
          else expected.addOutput(said);
        }
        assert.deepEqual(call.tally.usage(), expected.usage());
      }),
      { numRuns: 500 },
    );
  });

  it('is rejected when a chunk only resembles the previous one', () => {
    const chunk = (raw: string): string =>
      `data: {"choices":[{"index":0,"delta":{"content":"${raw}"},"finish_reason":null}]}\n\n`;
    for (const raw of ['\\x', '\u0001', '\\u12', 'a"b', '\\']) {
      const good = [chunk('a'), chunk('b')].join('');
      assert.throws(() => read(new ChatFrames(anew(chat)), [Buffer.from(good + chunk(raw))]), TextFailure, raw);
    }
    const call = anew(chat);
    const others = [chunk('a'), chunk('b'), chunk('c","role":"assistant'), chunk('d","refusal":"e')];
    const frames = read(new ChatFrames(call), [Buffer.from([...others, 'data: [DONE]'].join(''))]);
    assert.deepEqual(dataOf(frames[3] ?? '')['choices'], [
      { index: 0, delta: { content: 'd', refusal: 'e' }, finish_reason: null },
    ]);
    const expected = new Tally(5);
    expected.addOutput('abcde');
    assert.deepEqual(call.tally.usage(), expected.usage());
  });

  it('passes on what another Darkroom as upstream would send', () => {
    const answer = fc.tuple(said(0), usage);
    fc.assert(
      fc.property(answer, ([events, counted]) => {
        const meta = { id: chat.id, created: chat.createdAt, model: model.name, choices: 1, includesUsage: true };
        const encoder = createChatEncoder(meta);
        const frames = [
          ...encoder.begin(),
          ...events.flatMap((event) => encoder.next(event)),
          ...encoder.end({ ...counted, isEstimated: false }),
        ];
        const call = anew(chat);
        const passed = read(new ChatFrames(call), [Buffer.from(`${frames.join('')}data: [DONE]\n\n`)]);
        assert.deepEqual(passed, frames);
        assert.deepEqual(call.tally.usage(), { ...counted, isEstimated: false });
      }),
      { numRuns: 300 },
    );
  });
});
