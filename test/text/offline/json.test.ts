/**
 * Promises of answers in JSON: for any schema of the strict subset the answer is an instance of it; without a schema
 * it has the keys that the prompt names.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type { JsonSchema, OutputFormat } from '../../../src/text/request.ts';
import { ask, jsonOf, says } from './asking.ts';

const FORMATS = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  duration: /^P(?=.)(?:\d+[YMD])*(?:T(?:\d+[HMS])+)?$/,
  email: /^[^@\s]+@[^@\s]+\.[^@\s]+$/,
  hostname: /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i,
  ipv4: /^(?:\d{1,3}\.){3}\d{1,3}$/,
  ipv6: /^[\da-f:]+$/i,
  uuid: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
  uri: /^https?:\/\/\S+$/,
};
const PATTERNS = [
  '^[A-Z]{2}-\\d{3,5}$',
  '^(?:red|green|blue)$',
  '^#[0-9a-f]{6}$',
  '[a-c]+\\.(?:png|jpe?g)',
  '^\\+?\\d{1,3}[ -]\\(\\d{2}\\)$',
  '^[^@\\s]+@[^@]+\\.com$',
  '^(a|(bc)+)*d?$',
  '^\\S+\\s\\w+$',
  '^v\\d+(\\.\\d+){2}$',
];

const ajv = new Ajv2020({ strict: false, formats: FORMATS });

const whole = fc.integer({ min: -1000, max: 1000 });
const WORDS = 'name age city email tags answer isOpen unit_price steps from constructor größe x'
  .split(' ')
  .concat('a b');
const names = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string({ maxLength: 6 }).filter((name) => name !== '__proto__'),
);

const bounds = fc.tuple(
  whole,
  fc.constantFrom(0.01, 0.1, 0.25, 0.5, 1, 1.5, 2, 5, 7),
  fc.integer({ min: 20, max: 500 }),
);
const numbers = fc
  .tuple(fc.constantFrom('number', 'integer'), bounds, fc.subarray(['multipleOf', 'low', 'high']), fc.boolean())
  .map(([type, [low, step, width], chosen, isExclusive]) => ({
    type,
    ...(chosen.includes('multipleOf') ? { multipleOf: step } : {}),
    ...(chosen.includes('low') ? { [isExclusive ? 'exclusiveMinimum' : 'minimum']: low } : {}),
    ...(chosen.includes('high') ? { [isExclusive ? 'exclusiveMaximum' : 'maximum']: low + step * width + 10 } : {}),
  }));

const strings = fc.oneof(
  fc.constant({ type: 'string' }),
  fc.constantFrom(...Object.keys(FORMATS)).map((format) => ({ type: 'string', format })),
  fc.constantFrom(...PATTERNS).map((pattern) => ({ type: 'string', pattern })),
  fc
    .tuple(fc.nat(30), fc.nat(30))
    .map(([least, more]) => ({ type: 'string', minLength: least, maxLength: least + more })),
);

const leaves: Arbitrary<JsonSchema> = fc.oneof(
  strings,
  numbers,
  fc.constant({ type: 'boolean' }),
  fc.constant({ type: 'null' }),
  fc.constant({ type: ['string', 'null'], description: 'if known' }),
  fc.constant({ type: ['integer', 'string'] }),
  fc
    .array(fc.oneof(fc.string(), whole, fc.boolean(), fc.constant(null)), { minLength: 1 })
    .map((members) => ({ enum: members })),
  fc.oneof(fc.string(), whole, fc.boolean()).map((value) => ({ const: value })),
  // References: to a recursive object, to a list of them, to a plain value.
  fc.constantFrom({ $ref: '#/$defs/node' }, { $ref: '#/$defs/colour' }, { $ref: '#/$defs/list', description: 'many' }),
);

function objectOf(properties: JsonSchema): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

const { schema: anySchema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaves,
    fc.dictionary(names, tie('schema'), { maxKeys: 4, noNullPrototype: true }).map(objectOf),
    fc
      .tuple(tie('schema'), fc.nat(3), fc.nat(3))
      .map(([items, minItems, more]) => ({ type: 'array', items, minItems, maxItems: minItems + more })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
  ),
}));

const DEFINITIONS = {
  colour: { type: 'string', enum: ['red', 'green'] },
  node: objectOf({
    value: { type: 'integer', minimum: 0 },
    next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
    other: { anyOf: [{ $ref: '#/$defs/list' }, { $ref: '#/$defs/colour' }] },
    all: { type: 'array', items: { $ref: '#/$defs/node' } },
  }),
  list: objectOf({ head: { $ref: '#/$defs/node' }, rest: { anyOf: [{ $ref: '#/$defs/list' }, { type: 'null' }] } }),
};

const rootSchema = fc
  .dictionary(names, anySchema, { maxKeys: 6, noNullPrototype: true })
  .map((properties) => ({ ...objectOf(properties), $defs: DEFINITIONS }));

const prompts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom(
    'Invent a person.',
    'John Smith is 42 years old, lives in Berlin, and his email is john@example.com. Tags: red, green and "blue".',
    'On 2024-02-03 at 192.168.0.1 we saw -17.5 and 1,200 things: name: "Ada", city = Paris, age 7, x 3.25; steps 1, 2, 3',
  ),
);

function strict(schema: JsonSchema): OutputFormat {
  return { type: 'json_schema', name: 'it', schema, strict: true };
}

function person(properties: JsonSchema): { readonly format: OutputFormat } {
  return { format: strict(objectOf(properties)) };
}

describe('an instance of a schema', () => {
  it('is accepted, whatever the schema and the prompt', async () => {
    await fc.assert(
      fc.asyncProperty(rootSchema, prompts, fc.option(fc.nat(), { nil: undefined }), async (schema, prompt, seed) => {
        const { answer } = await ask(prompt, { format: strict(schema), seed });
        const validate = ajv.compile(schema);
        const value: unknown = JSON.parse(answer.text);
        assert.ok(validate(value), `${JSON.stringify(validate.errors)} in ${answer.text}`);
        assert.equal(answer.finish, 'stop');
      }),
      { numRuns: 200 },
    );
  });

  it('stays within what may be said where arrays of objects that refer to themselves multiply', async () => {
    const nested = (items: JsonSchema): JsonSchema => ({ type: 'array', items, minItems: 3, maxItems: 3 });
    const nodes = { type: 'array', items: { $ref: '#/$defs/node' }, minItems: 0, maxItems: 2 };
    const schema = { ...objectOf({ name: nested(nested(nested(nodes))) }), $defs: DEFINITIONS };

    const { answer } = await ask('Invent a person.', { format: strict(schema) });

    assert.equal(answer.finish, 'stop');
    assert.ok(ajv.compile(schema)(JSON.parse(answer.text)));
  });

  it('has the values and lists that stand in the prompt, and the answer where one is asked for', async () => {
    const properties = {
      name: { type: 'string' },
      age: { type: 'integer' },
      email: { type: 'string', format: 'email' },
      city: { type: 'string' },
      phone: { type: ['string', 'null'] },
      mood: { type: 'string', enum: ['sad', 'happy'] },
      born: { type: 'string', format: 'date' },
    };
    const prompt = 'John Smith is 42 years old, born 1982-03-04, email john@x.com, lives in Berlin and is happy.';
    const value = {
      name: 'John Smith',
      age: 42,
      email: 'john@x.com',
      city: 'Berlin',
      phone: null,
      mood: 'happy',
      born: '1982-03-04',
    };
    assert.deepEqual(await jsonOf(prompt, person(properties)), value);
    const list = (type: string): JsonSchema => ({ type: 'array', items: { type } });
    const plan = 'Plan it. Guests: Ada, Grace and Alan. The scores are 3, 5 and 8.';
    assert.deepEqual(await jsonOf(plan, person({ guests: list('string'), scores: list('integer') })), {
      guests: ['Ada', 'Grace', 'Alan'],
      scores: [3, 5, 8],
    });
    const answer = { explanation: { type: 'string' }, result: { type: 'number' }, final_answer: { type: 'string' } };
    assert.deepEqual(await jsonOf('What is 17 * 3? Reply with just the number.', person(answer)), {
      explanation: '51',
      result: 51,
      final_answer: '51',
    });
  });

  it('has texts of an enum to the byte, streamed as they are', async () => {
    const note = '<think>kept</think> </think:opensource> <|channel>thought <tool_call>"literal"\n🎉</tool_call>';
    const { answer, events } = await ask(
      'Return the JSON object required by the schema.',
      person({ note: { type: 'string', enum: [note] } }),
    );
    assert.deepEqual(JSON.parse(answer.text), { note });
    assert.ok(events.length > 10);
  });

  it('has members of any name', async () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"const":1}},"required":["__proto__"]}',
    ) as JsonSchema;
    assert.equal((await ask('Go on.', { format: strict(schema) })).answer.text, '{"__proto__":1}');
  });

  it('ends however deep the schema leads, and however much it asks for', async () => {
    const text = (pattern: string): JsonSchema => ({ type: 'string', pattern });
    const millionOf = (items: JsonSchema): JsonSchema => ({ type: 'array', minItems: 1e6, items });
    let deep: JsonSchema = { type: 'string' };
    for (let level = 0; level < 500; level++) deep = objectOf({ inner: deep });
    const schemas: readonly JsonSchema[] = [
      // It has no finite value.
      objectOf({ next: { $ref: '#' } }),
      deep,
      {
        ...objectOf({ it: { $ref: '#/$defs/a' } }),
        $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
      },
      objectOf({ all: millionOf(millionOf({ type: 'string', minLength: 1e9 })) }),
      objectOf({
        all: millionOf({ enum: ['word'.repeat(1e4)] }),
        more: millionOf({ const: { a: 'word'.repeat(1e4) } }),
      }),
      objectOf({ all: millionOf({ anyOf: Array.from({ length: 1000 }, () => ({ $ref: '#' })) }) }),
      // More than a function accepts as arguments.
      objectOf({ it: { anyOf: Array.from({ length: 130_000 }, () => false) } }),
      objectOf({
        long: text('^((a{1000}){1000}){1000}$'),
        empty: text('^(((a{0}){1000}){1000}){1000}$'),
        strange: text('^(?=x)(a+)+\\1$'),
        short: { ...text('^a*$'), minLength: 1e9, maxLength: 3 },
      }),
    ];
    for (const schema of schemas) {
      const { usage } = await ask('Go on.', { format: strict(schema), maxOutputTokens: 2000 });
      assert.ok(usage.outputTokens > 0 && usage.outputTokens <= 2000);
    }
  });

  it('is accepted for what clients send beside the strict subset', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
        both: {
          allOf: [
            { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
            { properties: { b: { const: 2 } }, required: ['b'] },
          ],
        },
        one: { oneOf: [{ type: 'integer' }, { type: 'boolean' }] },
        safe: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
        old: { $ref: '#/definitions/old%20one' },
        left: { type: 'string' },
      },
      required: ['pair', 'both', 'one', 'safe', 'old'],
      definitions: { 'old one': { type: 'boolean' } },
    };
    const { $schema, ...rest } = schema;
    assert.equal(typeof $schema, 'string');
    const value = await jsonOf('Make one.', { format: strict(schema) });
    assert.ok(ajv.validate(rest, value), JSON.stringify([ajv.errors, value]));
  });
});

describe('a JSON object without a schema', () => {
  const format: OutputFormat = { type: 'json_object' };

  it('has the keys that the prompt names, of their types', async () => {
    const value = await jsonOf('Return a JSON object with keys "name" (a string) and "age" (a number).', { format });
    assert.deepEqual(
      Object.entries(value ?? {}).map(([key, member]) => [key, typeof member]),
      [
        ['name', 'string'],
        ['age', 'number'],
      ],
    );
    const bare = await jsonOf(
      'Berlin has 3 rivers. Answer in JSON with the fields city, rivers (integer) and flat (boolean).',
      { format },
    );
    assert.deepEqual(bare, { city: 'Berlin', rivers: 3, flat: false });
  });

  it('is an instance of a schema that stands in the prompt', async () => {
    const schema = objectOf({
      recipe: objectOf({ name: { type: 'string' }, steps: { type: 'array', items: { type: 'string' } } }),
    });
    const instructions = `JSON schema:\n${JSON.stringify(schema)}\nYou MUST answer with a JSON object that matches the JSON schema above.`;
    const value = await jsonOf([says('system', instructions), says('user', 'Generate a lasagna recipe.')], { format });
    assert.ok(ajv.validate(schema, value), JSON.stringify(value));
  });

  it('is like an example in the prompt', async () => {
    const value = await jsonOf('Reply in JSON like {"title": "…", "pages": 0, "tags": ["a"]} please.', { format });
    const schema = objectOf({
      title: { type: 'string' },
      pages: { type: 'number' },
      tags: { type: 'array', items: { type: 'string' } },
    });
    assert.ok(ajv.validate(schema, value), JSON.stringify(value));
  });

  it('holds the answer where nothing is said of keys', async () => {
    assert.deepEqual(await jsonOf('What is 2 + 2? Reply with just the number, in JSON.', { format }), { answer: '4' });
  });

  it('is always an object', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (prompt) => {
        const value = await jsonOf(`JSON: ${prompt}`, { format });
        assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
      }),
    );
  });

  it('comes without being required too, where a prompt names its keys', async () => {
    const value = await jsonOf(
      'Return ONLY a raw JSON object with keys "name" (string) and "age" (number). No markdown.',
      {},
    );
    assert.deepEqual(Object.keys(value ?? {}), ['name', 'age']);
  });
});
