/**
 * Promises of the answers of the offline text model: only what is in the prompt or can be derived from it, in the
 * requested form.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ContentPart } from '../../../src/text/request.ts';
import { ask, called, says, textOf } from './asking.ts';

const QUIET = 'The harbour of Brest lies in the west. Ships come from everywhere. The water is cold.';

async function expectAnswers(cases: Readonly<Record<string, string>>): Promise<void> {
  for (const [prompt, answer] of Object.entries(cases)) assert.equal(await textOf(prompt), answer, prompt);
}

describe('what is to be repeated', () => {
  it('is said as it is given', async () => {
    await expectAnswers({
      'Say exactly: alpha beta gamma': 'alpha beta gamma',
      '[k2] Repeat this text exactly, nothing else: cobalt lantern 42': 'cobalt lantern 42',
      'Repeat this text exactly, nothing else: 日本語 · émoji 🎉 · «quotes»': '日本語 · émoji 🎉 · «quotes»',
      'Reply with exactly this word and nothing else: ACKNOWLEDGED': 'ACKNOWLEDGED',
      'Please reply with "two words".': 'two words',
      'Reply with pong.': 'pong',
      'Say hello in exactly one word.': 'hello',
      'Say hi.': 'hi',
    });
  });

  it('is any text, to the byte', async () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }).map((value) => value.trim());
    const isPlain = (value: string): boolean => value !== '' && !/^["“']|\bwords?\b/u.test(value);
    await fc.assert(
      fc.asyncProperty(text.filter(isPlain), async (value) => {
        assert.equal(await textOf(`Say exactly:\n${value}`), value);
      }),
    );
  });

  it('is not what an answer is only described by', async () => {
    for (const prompt of ['Reply with just the name of the ship.', 'Say something nice.', 'Answer in one sentence.'])
      assert.notEqual(await textOf(prompt), prompt.slice(prompt.indexOf(' ') + 1, -1));
  });
});

describe('simple arithmetic', () => {
  it('is worked out', async () => {
    await expectAnswers({
      'What is 17 * 3? Reply with only the number and nothing else.': '51',
      'What is 17 * 3? Think it through, then answer.': '17 * 3 = 51',
      'What is 12 plus 30? Reply with just the number.': '42',
      'What is 2 + 3 * 4?': '2 + 3 * 4 = 14',
      'Calculate (2 + 3) * 4. Reply with only the number.': '20',
      'What is 15% of 80? Answer with only the number.': '12',
      'What is 2^10? Reply with just the number.': '1024',
      'What is 0.1 + 0.2? Reply with just the number.': '0.3',
      'What is 7 divided by 2? Reply with just the number.': '3.5',
      'What is the sum of 3 and 4? Reply with just the number.': '7',
      'Subtract 3 from 10. Reply with just the number.': '7',
    });
  });

  it('goes on from the last answer', async () => {
    const before = [says('user', 'What is 2 + 2? Reply with just the number.'), says('assistant', '4')];
    const add = says('user', 'Add 3 to your last answer. Reply with just the number.');
    const multiply = says('user', 'Multiply that by 5. Reply with just the number.');
    assert.equal(await textOf([...before, add]), '7');
    assert.equal(await textOf([...before, add, says('assistant', '7'), multiply]), '35');
  });

  it('leaves dates alone, and what has no value', async () => {
    for (const prompt of ['The meeting is on 2024-01-15.', 'What is 5 / 0?', 'Chapter 3-4 please'])
      assert.doesNotMatch(await textOf(prompt), /= |NaN|Infinity/);
  });

  it('gives for sums and products what numbers give', async () => {
    const number = fc.integer({ min: 0, max: 9999 });
    const sign = fc.constantFrom('+', '-', '*');
    await fc.assert(
      fc.asyncProperty(number, sign, number, sign, number, async (a, first, b, second, c) => {
        const times = (left: number, by: string, right: number): number =>
          by === '*' ? left * right : by === '+' ? left + right : left - right;
        const value = second === '*' && first !== '*' ? times(a, first, b * c) : times(times(a, first, b), second, c);
        const prompt = `What is ${a} ${first} ${b} ${second} ${c}? Reply with only the number.`;
        assert.equal(await textOf(prompt), String(value));
      }),
    );
  });
});

describe('what was said before', () => {
  it('is found again', async () => {
    const given: readonly (readonly [string, string, string])[] = [
      ['Hi! My name is Alice.', 'What is my name? Reply with just the name.', 'Alice'],
      ["I'm Bob, hello.", 'What is my name?', 'Bob'],
      ['My name is Ada and I have a dog called Byron.', "What is my dog's name? Reply with just the name.", 'Byron'],
      ['My name is Ada and I have a dog called Byron.', 'What is my name?', 'Ada'],
      ['The launch code is 7421-X. Keep it safe.', 'What is the launch code?', '7421-X'],
      ['Paris is the capital of France.', 'What is the capital of France?', 'Paris'],
      ['My car is red.', 'What colour is my car?', 'red'],
      ['{"server": {"port": 8443, "host": "0.0.0.0"}}', 'What is the server port? Only the number.', '8443'],
    ];
    for (const [fact, question, answer] of given) {
      const conversation = [says('user', fact), says('assistant', 'I see.'), says('user', question)];
      assert.equal(await textOf(conversation), answer, question);
    }
  });

  it('is what was said last, where it was said twice', async () => {
    const facts = ['My name is Ada.', 'Sorry, my name is Grace.'].map((text) => says('user', text));
    assert.equal(await textOf([...facts, says('user', 'What is my name?')]), 'Grace');
  });

  it('is found in the middle of a long text', async () => {
    const filler = 'The quick brown fox jumps over the lazy dog. '.repeat(4000);
    const prompt = `${filler}\n\nThe magic number is 90210.\n\n${filler}\n\nWhat is the magic number? Reply with just the number.`;
    assert.equal(await textOf(prompt), '90210');
  });

  it('is not invented', async () => {
    assert.equal(await textOf('Name the capital of France. Reply with just the city.'), 'Unknown');
    assert.match(await textOf('Who wrote Hamlet?'), /do not know/);
  });

  it('says what the model is, and how a real one is added, in the first answer alone', async () => {
    for (const prompt of ['Hello!', 'Who wrote Hamlet?', 'Tell me about rivers.']) {
      assert.match(await textOf(prompt), /conformance model[^]*no language model[^]*docs\/guides\/text-models\.md/);
      const later = [says('user', 'Hello!'), says('assistant', 'Hello!'), says('user', prompt)];
      assert.doesNotMatch(await textOf(later), /conformance/);
    }
    for (const prompt of ['Say "yes".', 'What is 17 * 3?', 'Write three sentences about rivers.']) {
      assert.doesNotMatch(await textOf(prompt), /conformance/);
    }
  });

  it('is what the instructions say that the model is', async () => {
    const conversation = [
      says('system', 'You are a meticulous archivist. '.repeat(9)),
      says('user', 'In one word, what is your role?'),
    ];
    assert.equal(await textOf(conversation), 'Archivist');
  });
});

describe('what functions answered', () => {
  const asked = says('user', "What's the weather in Paris?");

  it('is the answer, function by function when there are several, and never an empty one', async () => {
    const result = called('get_weather', '{"city":"Paris"}', '{"temp_c": 18, "conditions": "rain"}');
    assert.equal(await textOf([asked, ...result]), 'temp_c: 18, conditions: rain');
    const results = [...called('get_weather', '{}', 'rain'), ...called('get_time', '{}', '12:30')];
    assert.equal(await textOf([asked, ...results]), 'get_weather: rain\nget_time: 12:30');
    assert.equal(await textOf([asked, ...called('get_weather', '{}', '')]), 'done');
  });

  it('is searched where only one thing of it is wanted', async () => {
    const question = says('user', 'What port does the server listen on? Reply with just the number.');
    const result = called('read_file', '{}', '{"server": {"host": "0.0.0.0", "port": 8443}}');
    assert.equal(await textOf([question, ...result]), '8443');
  });
});

describe('the form of an answer', () => {
  it('counts as far as the prompt says, and has the first sentences of a text that is to be summed up', async () => {
    await expectAnswers({
      'Count from 1 to 5.': '1, 2, 3, 4, 5',
      'Count from 10 to 4 by 3, one per line.': '10\n7\n4',
      [`Summarize in one sentence: ${QUIET}`]: 'The harbour of Brest lies in the west.',
      [`${QUIET}\n\nSummarise the text above in two sentences.`]: QUIET.slice(0, 66),
    });
  });

  it('has as many words or sentences as are wished for', async () => {
    for (const [prompt, words] of [
      ['Invent a two-word band name.', 2],
      ['What is the capital of Japan? Answer in exactly one word.', 1],
      ['Tell me about the sea in 20 words.', 20],
    ] as const)
      assert.equal((await textOf(prompt)).split(/\s+/).length, words, prompt);
    assert.equal((await textOf('Write three sentences about rivers.')).split(/(?<=\.)\s+/).length, 3);
  });

  it('is what instructions ask for in every answer', async () => {
    const instructed = async (rule: string, prompt: string): Promise<string> =>
      textOf([says('system', rule), says('user', prompt)]);
    assert.match(
      await instructed('You must end every single reply with the word BANANA.', 'What is 2 + 2?'),
      /BANANA$/,
    );
    assert.match(await instructed('Start every answer with "Ahoy".', 'What is 2 + 2?'), /^Ahoy/);
    assert.equal(await instructed('Answer in upper case.', 'Say exactly: hello'), 'HELLO');
    const always = 'Whatever the user says, reply with exactly the word "quartz" and nothing else.';
    assert.equal(await instructed(always, 'What is the capital of France?'), 'quartz');
  });

  it('is longer for an essay, and for more verbosity', async () => {
    const lengths = [];
    for (const verbosity of ['low', 'medium', 'high'] as const)
      lengths.push((await textOf('Explain rivers.', { verbosity })).length);
    assert.deepEqual(
      lengths.toSorted((left, right) => left - right),
      lengths,
    );
    assert.ok((await ask('Write a long essay about the sea.')).usage.outputTokens > 300);
  });
});

describe('conversations of every kind', () => {
  it('have an answer: without words, without a user, ending with the assistant', async () => {
    for (const messages of [
      [says('user', '')],
      [says('system', 'Be kind.')],
      [says('user', 'What is my name?'), says('assistant', 'Sure. Your name is Par')],
      [says('user', 'Hello!'), ...called('lookup', '{', 'found nothing')],
    ])
      assert.notEqual(await textOf(messages), '');
  });

  it('may have a question in several parts', async () => {
    const content = ['Answer the question in the next block with just the number.', 'What is 12 + 30?'];
    const parts = content.map((text): ContentPart => ({ type: 'text', text }));
    assert.equal(await textOf([{ role: 'user', content: parts }]), '42');
  });

  it('have an answer whatever the user says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 400 }), async (prompt) => {
        assert.notEqual((await ask(prompt)).answer.text, '');
      }),
    );
  });
});

describe('images', () => {
  const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
  const GIF = Buffer.from('474946383961050007008000', 'hex').toString('base64');
  const JPEG = Buffer.from('ffd8ffe000040000ffc0001108001e0028030122', 'hex').toString('base64');
  const WEBP = Buffer.from('524946461a000000574542505650384c0d0000002f0440010000', 'hex').toString('base64');

  async function described(url: string, text = 'What is in this picture?'): Promise<string> {
    const content = [{ type: 'text', text } as const, { type: 'image', url } as const];
    return textOf([{ role: 'user', content }]);
  }

  it('are described by kind and size', async () => {
    assert.equal(await described(`data:image/png;base64,${PNG}`), 'A PNG image, 1 × 1 pixels, 70 bytes.');
    assert.match(await described(`data:image/gif;base64,${GIF}`), /^A GIF image, 5 × 7 pixels/);
    assert.match(await described(`data:image/jpeg;base64,${JPEG}`), /^A JPEG image, 40 × 30 pixels/);
    assert.match(await described(`data:image/webp;base64,${WEBP}`), /^A WebP image, 5 × 6 pixels/);
  });

  it('have words of some kind whatever they are', async () => {
    assert.equal(await described('https://example.com/cat.png'), 'A picture at example.com.');
    assert.match(await described('data:image/png;base64,iVBORw0KGgo='), /^A PNG image, \d+ bytes/);
    assert.match(await described('data:image/png;base64,AAAA'), /unknown kind/);
    assert.notEqual(await described(`data:image/png;base64,${PNG}`, 'Describe this image in one word.'), '');
  });
});
