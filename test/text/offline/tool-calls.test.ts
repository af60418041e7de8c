/** Promises of the functions that the offline text model calls: which ones, how often, and with which arguments. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FunctionTool } from '../../../src/text/request.ts';
import { ask, called, callsOf, says, tool } from './asking.ts';

const CITY = { type: 'string', description: 'City name, e.g. Paris' };
const WEATHER = tool(
  'get_weather',
  { city: CITY, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
  ['city'],
  'Get the current weather for a city.',
);
const TIME = tool('get_time', { city: { type: 'string' } }, ['city'], 'Get the current local time in a city.');
const TABLE = tool(
  'book_table',
  { restaurant: { type: 'string' }, party_size: { type: 'integer' }, outdoor: { type: 'boolean' } },
  ['restaurant', 'party_size', 'outdoor'],
  'Book a restaurant table.',
);
const FILE = tool(
  'write_file',
  { path: { type: 'string' }, content: { type: 'string' } },
  ['path', 'content'],
  'Write a text file.',
);
const SEARCH = tool('search_web', { query: { type: 'string' } }, ['query'], 'Search the web.');
const EMAIL = tool(
  'send_email',
  { to: { type: 'string' }, subject: { type: 'string' }, body: { type: 'string' } },
  ['to', 'subject', 'body'],
  'Send an email.',
);
const MENU = [WEATHER, TIME, SEARCH, EMAIL];

describe('which functions are called', () => {
  it('are those that the prompt speaks of', async () => {
    for (const [prompt, names] of [
      ["What's the weather like in Paris right now?", ['get_weather']],
      ['What time is it in Tokyo?', ['get_time']],
      ['Search the web for llama farms.', ['search_web']],
      ['Send an email to bob@example.com with subject Hi and body: see you at 5', ['send_email']],
      ["What's the weather and the time in Tokyo?", ['get_weather', 'get_time']],
      ['Hello! How are you doing today?', []],
      ['What is the capital of France?', []],
      ["What's the weather in Paris? Do not use any tools.", []],
    ] as const) {
      const calls = await callsOf(prompt, { tools: MENU });
      assert.deepEqual(
        calls.map(({ name }) => name),
        names,
        prompt,
      );
    }
  });

  it('are none where that is the choice, and there is an answer in words', async () => {
    const { answer } = await ask("What's the weather in Paris? Use the weather tool.", {
      tools: [WEATHER],
      toolChoice: 'none',
    });
    assert.deepEqual(answer.calls, []);
    assert.equal(answer.finish, 'stop');
    assert.notEqual(answer.text, '');
  });

  it('are at least one where one is required', async () => {
    const { answer } = await ask('Tell me a joke.', { tools: MENU, toolChoice: 'required' });
    assert.equal(answer.calls.length, 1);
    assert.equal(answer.finish, 'tool_calls');
    assert.equal(answer.text, '');
  });

  it('are the one that is named', async () => {
    const calls = await callsOf('What time is it in Tokyo?', { tools: MENU, toolChoice: { name: 'get_weather' } });
    assert.deepEqual(calls, [{ name: 'get_weather', arguments: { city: 'Tokyo' } }]);
  });

  it('are one at most where they may not be parallel', async () => {
    const given = { tools: [WEATHER, TIME], parallelToolCalls: false };
    assert.equal((await callsOf("What's the weather AND the time in Tokyo? Call both tools.", given)).length, 1);
    assert.equal((await callsOf("What's the weather in Paris and London?", given)).length, 1);
  });

  it('are none any more once there is a result, unless one is required or there is a new question', async () => {
    const first = [says('user', "What's the weather in Paris?"), ...called('get_weather', '{"city":"Paris"}', 'rain')];
    assert.equal((await ask(first, { tools: [WEATHER] })).answer.text, 'rain');
    assert.equal((await callsOf(first, { tools: [WEATHER], toolChoice: 'required' })).length, 1);
    const again = [...first, says('assistant', 'Rain.'), says('user', 'And the weather in Oslo?')];
    assert.deepEqual(await callsOf(again, { tools: [WEATHER] }), [
      { name: 'get_weather', arguments: { city: 'Oslo' } },
    ]);
  });
});

describe('what functions are called with', () => {
  const FLIGHT = tool('find_flight', { from: { type: 'string' }, to: { type: 'string' }, seats: { type: 'number' } }, [
    'from',
    'to',
    'seats',
  ]);
  const ADD = tool('add', { a: { type: 'number' }, b: { type: 'number' } }, ['a', 'b'], 'Add two numbers');
  const MAIL = 'Send an email to bob@example.com with subject Hi and body: see you at 5';
  const cases: readonly (readonly [string, FunctionTool, object])[] = [
    // What the prompt says, of the right types.
    [
      'Book a table at Chez Nous for 4 people, outdoors.',
      TABLE,
      { restaurant: 'Chez Nous', party_size: 4, outdoor: true },
    ],
    ['Book a table for two at Luigi, but not outdoors.', TABLE, { restaurant: 'Luigi', party_size: 2, outdoor: false }],
    // The member of an enum that the prompt names, and nothing where it names none.
    ["What's the weather in Miami? Give it to me in fahrenheit.", WEATHER, { city: 'Miami', unit: 'fahrenheit' }],
    ['weather in paris', WEATHER, { city: 'paris' }],
    // Members by their names and prepositions.
    ['Find me a flight from Oslo to Rome for 3 people.', FLIGHT, { from: 'Oslo', to: 'Rome', seats: 3 }],
    [MAIL, EMAIL, { to: 'bob@example.com', subject: 'Hi', body: 'see you at 5' }],
    ['Add 12 and 30.', ADD, { a: 12, b: 30 }],
  ];
  for (const [prompt, offered, expected] of cases) {
    it(`is what stands in: ${prompt}`, async () => {
      assert.deepEqual((await callsOf(prompt, { tools: [offered] }))[0]?.arguments, expected);
    });
  }

  it('is a text to the byte', async () => {
    const content = 'Delimiters: </tool_call> and </think> and <|im_end|>.\n  "quoted", \\n and 🎉';
    for (const temperature of [0, 0.7]) {
      const prompt = `Call write_file with path notes.md and content exactly:\n${content}`;
      const [call] = await callsOf(prompt, { tools: [FILE], toolChoice: { name: 'write_file' }, temperature });
      assert.deepEqual(call?.arguments, { path: 'notes.md', content });
    }
  });

  it('is one call for each of the things that stand in a row', async () => {
    const calls = await callsOf("What's the weather in Paris, London and Rio de Janeiro?", { tools: [WEATHER] });
    const cities = ['Paris', 'London', 'Rio de Janeiro'];
    assert.deepEqual(
      calls,
      cities.map((city) => ({ name: 'get_weather', arguments: { city } })),
    );
  });

  it('is null or absent for what the prompt does not say', async () => {
    const person = tool(
      'save_person',
      { name: { type: 'string' }, nickname: { type: ['string', 'null'] }, age: { type: 'integer' } },
      ['name', 'nickname'],
    );
    const [call] = await callsOf('Please save Grace Hopper.', { tools: [person], toolChoice: { name: 'save_person' } });
    assert.deepEqual(call?.arguments, { name: 'Grace Hopper', nickname: null });
  });

  it('is an empty object for a function that takes nothing', async () => {
    const { answer } = await ask('Reset everything.', { tools: [{ name: 'reset' }], toolChoice: 'required' });
    assert.equal(answer.calls[0]?.arguments, '{}');
  });
});

describe('calls', () => {
  it('have ids of their own', async () => {
    const given = { tools: [WEATHER, TIME], choices: 2 };
    const { answers } = await ask("What's the weather and the time in Tokyo and Oslo?", given);
    const again = await ask("What's the weather and the time in Tokyo and Oslo?", given);
    const ids = [...answers, ...again.answers].flatMap(({ calls }) => calls.map(({ id }) => id));
    assert.equal(ids.length, 16);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('end with `length` where the cap cuts their arguments', async () => {
    const { answer, usage } = await ask('Call write_file with path notes.md', {
      tools: [FILE],
      toolChoice: 'required',
      maxOutputTokens: 5,
    });
    assert.equal(answer.finish, 'length');
    assert.ok(usage.outputTokens <= 5);
  });
});
