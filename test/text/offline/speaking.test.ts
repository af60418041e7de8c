/**
 * Promises of how the offline text model answers: token by token, within the cap, reproducibly, and without blocking
 * others.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createEmbeddedTextSource } from '../../../src/text/offline-source.ts';
import { TokenBudget, loadVocabulary, piecesOf } from '@darkroom/offline-text/tokens';
import { TextFailure } from '../../../src/text/text-failure.ts';
import { countInputTokens, countTextTokens, loadTokenizer } from '../../../src/text/tokens.ts';
import { MODEL, ask, callOf, called, requestOf, says, textOf, tool, threads } from './asking.ts';

const ESSAY = 'Write a long essay about the sea.';
const anyText = fc.string({ unit: 'binary', maxLength: 300 });

before(() => Promise.all([loadVocabulary(), loadTokenizer()]));

describe('tokens', () => {
  it('are a text in pieces of whole characters', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const pieces = [...piecesOf(text, new TokenBudget(10_000))];
        assert.equal(pieces.map((piece) => piece.text).join(''), text);
        assert.ok(pieces.every((piece) => piece.text !== '' && piece.tokens.length > 0));
      }),
    );
  });

  it('are as many as are counted elsewhere, and come a few to an event', async () => {
    const { answer, events, usage } = await ask(ESSAY);
    assert.equal(usage.outputTokens, countTextTokens(answer.text));
    assert.ok(events.length >= usage.outputTokens / 2);
  });

  it('of very long words and texts are found all the same', () => {
    for (const text of ['x'.repeat(30_000), '🎉'.repeat(9000), ' '.repeat(30_000), 'a b\n'.repeat(9000)]) {
      const pieces = [...piecesOf(text, new TokenBudget(1_000_000))];
      assert.equal(pieces.map((piece) => piece.text).join(''), text);
    }
  });
});

describe('the cap', () => {
  it('is never exceeded, and is reported', async () => {
    const efforts = fc.constantFrom(undefined, 'none', 'low', 'high' as const);
    const caps = fc.integer({ min: 1, max: 120 });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyText, fc.constant(ESSAY)),
        caps,
        efforts,
        async (prompt, maxOutputTokens, reasoningEffort) => {
          const given = { reasoningEffort: reasoningEffort as 'low' | undefined };
          const capped = await ask(prompt, { ...given, maxOutputTokens });
          // With more, an answer that has nothing to say also introduces the model.
          const whole = await ask(prompt, { ...given, maxOutputTokens: 255 });
          assert.ok(capped.usage.outputTokens <= maxOutputTokens);
          assert.equal(capped.answer.finish, whole.usage.outputTokens > maxOutputTokens ? 'length' : 'stop');
          assert.ok(whole.answer.text.startsWith(capped.answer.text));
          assert.ok(whole.answer.reasoning.startsWith(capped.answer.reasoning));
        },
      ),
    );
  });

  // Proves C9-8.
  it('holds for reasoning and answer together: a low one leaves nothing to say', async () => {
    const { answer, usage } = await ask(ESSAY, { reasoningEffort: 'high', maxOutputTokens: 20 });
    assert.equal(answer.text, '');
    assert.equal(answer.finish, 'length');
    assert.deepEqual([usage.outputTokens, usage.reasoningTokens], [20, 20]);
  });

  it('is shared by many choices, so that one call occupies no more than its part of the process', async () => {
    const { answers, usage } = await ask('Write a long essay about the sea.', { choices: 128, topLogprobs: 20 });

    assert.equal(answers.length, 128);
    assert.ok(answers.every(({ finish }) => finish === 'length'));
    assert.ok(usage.outputTokens * 21 <= 100_000, String(usage.outputTokens));
  });

  it('is the model’s own where none is asked for', async () => {
    const { answer, usage } = await ask(`Count from 1 to 999999`);
    assert.equal(usage.outputTokens, MODEL.maxOutputTokens);
    assert.equal(answer.finish, 'length');
  });

  it('leaves no half of a character', async () => {
    for (const maxOutputTokens of [1, 2, 3, 4, 5, 6]) {
      const { answer } = await ask('Say exactly: 𓀀𓀁𓀂', { maxOutputTokens });
      assert.ok('𓀀𓀁𓀂'.startsWith(answer.text));
      assert.doesNotMatch(answer.text, /\uFFFD/);
    }
  });
});

describe('stop sequences', () => {
  it('end the answer before them', async () => {
    const { answer } = await ask('Say exactly: alpha beta gamma', { stop: ['gamma', 'beta'] });
    assert.equal(answer.text, 'alpha ');
    assert.equal(answer.finish, 'stop');
  });

  it('never appear, wherever they begin', async () => {
    const text = 'one two three four five';
    const stops = fc.array(fc.tuple(fc.nat(22), fc.integer({ min: 1, max: 4 })), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(stops, async (ranges) => {
        const stop = ranges.map(([from, length]) => text.slice(from, from + length));
        const said = await textOf(`Say exactly: ${text}`, { stop });
        assert.ok(text.startsWith(said));
        for (const sequence of stop) assert.ok(!said.includes(sequence));
      }),
    );
  });

  it('do not hold for what is thought, nor for calls', async () => {
    const weather = tool('get_weather', { city: { type: 'string' } }, ['city']);
    const { answer } = await ask('The weather in Paris?', {
      tools: [weather],
      stop: ['a', 'e'],
      reasoningEffort: 'low',
    });
    assert.equal(answer.calls[0]?.arguments, '{"city":"Paris"}');
    assert.match(answer.reasoning, /e/);
  });
});

describe('reasoning', () => {
  it('is none unless it is asked for, and more with more effort', async () => {
    const lengths = [];
    for (const reasoningEffort of [undefined, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const) {
      const { usage, answer } = await ask('What is 17 * 3?', { reasoningEffort });
      assert.equal(answer.text, '17 * 3 = 51');
      assert.equal(usage.reasoningTokens, countTextTokens(answer.reasoning));
      lengths.push(usage.reasoningTokens);
    }
    const [byDefault, none, ...efforts] = lengths;
    assert.deepEqual([byDefault, none], [0, 0]);
    for (const [index, length] of efforts.entries()) assert.ok(length > (efforts[index - 1] ?? 0));
  });

  it('comes first, and has nothing in it that clients take for a wrapper', async () => {
    const { answer, events } = await ask('<think>What</think> is <|channel|> [thinking]?', {
      reasoningEffort: 'xhigh',
    });
    assert.doesNotMatch(answer.reasoning, /[<>[\]|]/);
    const types = events.map(({ type }) => type);
    assert.ok(types.lastIndexOf('reasoning') < types.indexOf('text'));
  });
});

describe('the same request', () => {
  it('has the same answer by default, at temperature 0, at top_p near 0, and with a seed', async () => {
    for (const given of [
      {},
      { temperature: 0 },
      { temperature: 1, topP: 1e-6 },
      { seed: 42 },
      { seed: 42, temperature: 1 },
    ])
      assert.equal(await textOf(ESSAY, given), await textOf(ESSAY, given), JSON.stringify(given));
  });

  it('has another one with another seed, and each time at a temperature without a seed', async () => {
    assert.notEqual(await textOf(ESSAY, { seed: 1 }), await textOf(ESSAY, { seed: 2 }));
    assert.notEqual(await textOf(ESSAY, { temperature: 1 }), await textOf(ESSAY, { temperature: 1 }));
  });

  it('has different choices where temperature is not 0, and as many as were asked for', async () => {
    const { answers, usage } = await ask(ESSAY, { choices: 3, temperature: 0.8 });
    assert.equal(new Set(answers.map(({ text }) => text)).size, 3);
    assert.ok(answers.every(({ finish }) => finish === 'stop'));
    const tokens = answers.map(({ text }) => countTextTokens(text));
    assert.equal(
      usage.outputTokens,
      tokens.reduce((sum, count) => sum + count, 0),
    );
    const alike = await ask(ESSAY, { choices: 2, temperature: 0 });
    assert.equal(alike.answers[0]?.text, alike.answers[1]?.text);
  });
});

describe('log probabilities', () => {
  it('are reported for each token, with its bytes', async () => {
    const { answer, usage } = await ask('Say exactly: héllo 🎉𓀀 wörld', { topLogprobs: 0 });
    assert.equal(answer.logprobs.length, usage.outputTokens);
    assert.equal(Buffer.from(answer.logprobs.flatMap(({ bytes }) => bytes ?? [])).toString(), answer.text);
    assert.ok(answer.logprobs.every(({ logprob, alternatives }) => logprob < 0 && alternatives.length === 0));
  });

  it('have as many alternatives as were asked for, the token itself first, together no more than certain', async () => {
    const { answer } = await ask('Say hello.', { topLogprobs: 20 });
    for (const { token, logprob, alternatives } of answer.logprobs) {
      assert.equal(alternatives.length, 20);
      assert.deepEqual([alternatives[0]?.token, alternatives[0]?.logprob], [token, logprob]);
      assert.equal(new Set(alternatives.map((other) => other.token)).size, 20);
      const sum = alternatives.reduce((total, other) => total + Math.exp(other.logprob), 0);
      assert.ok(sum <= 1 && alternatives.every((other) => other.logprob <= logprob));
    }
  });

  it('are the same the second time', async () => {
    const given = { topLogprobs: 3, temperature: 0 };
    assert.deepEqual((await ask(ESSAY, given)).answer.logprobs, (await ask(ESSAY, given)).answer.logprobs);
  });
});

describe('usage', () => {
  const weather = tool('get_weather', { city: { type: 'string' } }, ['city']);

  it('has the input as it is counted everywhere', async () => {
    const conversation = [
      says('system', 'Be kind. '.repeat(50)),
      says('user', 'Weather?'),
      ...called('get_weather', '{}', 'rain'),
    ];
    const given = {
      tools: [weather],
      format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true },
    } as const;
    for (let time = 0; time < 2; time++) {
      const { usage } = await ask(conversation, given);
      assert.equal(usage.inputTokens, await countInputTokens(requestOf(conversation, given)));
    }
  });

  it('reports what was read before as cached, in whole messages', async () => {
    const source = createEmbeddedTextSource(threads);
    const system = says('system', 'You are a meticulous archivist. '.repeat(120));
    const first = [system, says('user', 'In one word, what is your role?')];
    const longer = [...first, says('assistant', 'Archivist'), says('user', 'Thanks.')];
    const cached = async (messages: typeof first, given = {}): Promise<readonly [number, number]> => {
      const { usage } = await ask(messages, given, source);
      return [usage.cachedInputTokens, usage.inputTokens];
    };
    const [nothing, whole] = await cached(first);
    assert.equal(nothing, 0);
    const [again, sameWhole] = await cached(first);
    assert.ok(again > whole / 2 && again <= sameWhole);
    assert.equal((await cached(longer))[0], again);
    const [ofSystem] = await cached([system, says('user', 'Another question.')]);
    assert.ok(ofSystem > 0 && ofSystem < again);
    assert.equal((await cached([says('user', 'Hi.'), ...first]))[0], 0);
    assert.equal((await cached(first, { tools: [weather] }))[0], 0);
  });
});

describe('a long answer', () => {
  it('lets others work in between', async () => {
    let turns = 0;
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        await nextTurn();
        turns += 1;
      }
    })();
    await ask(ESSAY);
    isOver = true;
    await others;
    assert.ok(turns > 10, `${turns} turns`);
  });

  it('ends when no one listens any more', async () => {
    const abort = new AbortController();
    const opened = await createEmbeddedTextSource(threads).open(callOf(requestOf(ESSAY)), abort.signal);
    assert.ok(opened.kind === 'events');
    let events = 0;
    await assert.rejects(async () => {
      for await (const event of opened.events) {
        assert.equal(event.type, 'text');
        events += 1;
        if (events === 3) abort.abort();
      }
    }, TextFailure);
    assert.equal(events, 3);
  });

  it('keeps the pace that the catalogue gives it, and is not held up by it when it is given up', async () => {
    // Ten minutes per token: the second one cannot come while this test runs.
    const parameters = { tokensPerSecond: 1 / 600 };
    const upstreams = [{ protocol: 'embedded' as const, model: 'conformance-text', parameters }];
    const abort = new AbortController();
    const opened = await createEmbeddedTextSource(threads).open(
      callOf(requestOf(ESSAY), { ...MODEL, upstreams }),
      abort.signal,
    );
    assert.ok(opened.kind === 'events');
    const first = opened.events[Symbol.asyncIterator]().next();
    const winner = await Promise.race([first, nextTurn('nothing yet')]);
    assert.equal(winner, 'nothing yet');
    abort.abort();
    await assert.rejects(first, { name: 'TextFailure', reason: 'interrupted' });
  });
});
