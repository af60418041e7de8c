import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compileCheck, compileViolations } from '../../src/schema/schema-validation.ts';

/** Field families of spec §2.5, each as some model has it. */
const INPUT = {
  type: 'object',
  additionalProperties: false,
  required: ['prompt'],
  properties: {
    prompt: { type: 'string', minLength: 1, maxLength: 10 },
    image_urls: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', maxLength: 20 } },
    duration: { type: 'integer', minimum: 4, maximum: 30 },
    length: { type: 'string', enum: ['6', '10'] },
    resolution: { type: 'string', enum: ['1k', '2k'] },
    draft: { type: 'boolean' },
    pitch: { type: 'number', exclusiveMinimum: 0, multipleOf: 0.5 },
    camera: { type: 'object', additionalProperties: false, properties: { zoom: { type: 'number' } } },
  },
};
const check = compileCheck(INPUT, 'invalid input');

/** Parsed, like a client's request: `__proto__` is then a field like any other. */
const messageFor = (json: string): string | undefined => check(JSON.parse(json));

describe('a violation of an input schema', () => {
  // Proves S2.5-2, S2.5-3, C1-24, C1-25.
  it('is reported in the forms of the contract', () => {
    const cases: [string, string][] = [
      ['{"prompt":"a","size":1}', 'additional properties not allowed: size'],
      ['{}', 'invalid input: missing property: prompt'],
      ['{"prompt":"a","image_urls":["1","2","3","4"]}', 'invalid input: image_urls: maxItems: got 4, want 3'],
      ['{"prompt":"a","image_urls":[]}', 'invalid input: image_urls: minItems: got 0, want 1'],
      ['{"prompt":"a","duration":31}', 'invalid input: duration: maximum: got 31, want 30'],
      ['{"prompt":"a","duration":3}', 'invalid input: duration: minimum: got 3, want 4'],
      ['{"prompt":"a","duration":"6"}', 'invalid input: duration: type: got string, want integer'],
      ['{"prompt":"a","length":6}', 'invalid input: length: type: got integer, want string'],
      ['{"prompt":"a","resolution":"2K"}', 'invalid input: resolution: enum: got "2K", want one of "1k", "2k"'],
      ['{"prompt":"a","image_urls":["1",2]}', 'invalid input: image_urls.1: type: got integer, want string'],
      ['{"prompt":"a","image_urls":"1"}', 'invalid input: image_urls: type: got string, want array'],
      ['{"prompt":"a","camera":{"zoom":"2"}}', 'invalid input: camera.zoom: type: got string, want number'],
      ['{"prompt":"a","camera":{"pan":2}}', 'additional properties not allowed: camera.pan'],
      ['{"prompt":""}', 'invalid input: prompt: minLength: got 0, want 1'],
      ['{"prompt":"12345678901"}', 'invalid input: prompt: maxLength: got 11, want 10'],
      ['{"prompt":null}', 'invalid input: prompt: type: got null, want string'],
      ['{"prompt":["a"]}', 'invalid input: prompt: type: got array, want string'],
      ['{"prompt":"a","draft":"true"}', 'invalid input: draft: type: got string, want boolean'],
      ['{"prompt":"a","duration":5.5}', 'invalid input: duration: type: got number, want integer'],
      ['{"prompt":"a","duration":1e400}', 'invalid input: duration: type: got number, want integer'],
      ['{"prompt":"a","pitch":0.3}', 'invalid input: pitch: multipleOf: got 0.3, want a multiple of 0.5'],
    ];
    for (const [json, message] of cases) assert.equal(messageFor(json), message, json);
  });

  it('is absent when the input conforms to the schema', () => {
    assert.equal(
      messageFor('{"prompt":"a","image_urls":["1"],"duration":30,"resolution":"2k","draft":false}'),
      undefined,
    );
  });

  it('says in words which form a text has, if its schema does', () => {
    const described = { type: 'string', pattern: '^[a-z]{2}$', description: 'A language, as an ISO 639 code.' };
    const schema = { type: 'object', properties: { language: described, code: { type: 'string', pattern: '^a$' } } };
    const message = compileCheck(schema, 'invalid request');

    assert.equal(
      message({ language: 'E' }),
      'invalid request: language: pattern: got "E", want this: A language, as an ISO 639 code.',
    );
    assert.equal(message({ code: 'b' }), 'invalid request: code: pattern: got "b", want a text that matches ^a$');
  });

  it('counts characters as people do, not as code units', () => {
    assert.equal(messageFor(JSON.stringify({ prompt: '🦊'.repeat(10) })), undefined);
    assert.equal(
      messageFor(JSON.stringify({ prompt: '🦊'.repeat(11) })),
      'invalid input: prompt: maxLength: got 11, want 10',
    );
  });

  it('is also reported for a field that is named like a member of every object', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      assert.equal(messageFor(`{"prompt":"a","${name}":{}}`), `additional properties not allowed: ${name}`);
    }
    assert.equal(messageFor('{"__proto__":{"prompt":"a"}}'), 'invalid input: missing property: prompt');
  });

  it('never takes an inherited field for one that was sent', () => {
    assert.equal(check(Object.create({ prompt: 'a' })), 'invalid input: missing property: prompt');
  });

  // Proves C1-26.
  it('is prefixed with "invalid request" outside the input, except for additional properties', () => {
    const outside = compileCheck(INPUT, 'invalid request');

    assert.equal(outside({}), 'invalid request: missing property: prompt');
    assert.equal(outside({ prompt: 'a', size: 1 }), 'additional properties not allowed: size');
  });

  it('quotes only the beginning of what was sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 100, maxLength: 300 }), (long) => {
        const value = check({ prompt: 'a', resolution: long }) ?? '';
        const field = check({ prompt: 'a', [`x${long}`]: 1 }) ?? '';
        assert.ok(value.length < 150 && field.length < 150, `${value}\n${field}`);
        for (const message of [value, field]) assert.doesNotMatch(message, /\p{Surrogate}/u);
      }),
    );
  });

  it('of a member behind a name with slashes and tildes is reported by that name', () => {
    const nested = compileCheck(
      { type: 'object', additionalProperties: { type: 'object', additionalProperties: { type: 'string' } } },
      'invalid input',
    );

    assert.equal(nested({ 'a/b~c': { d: 1 } }), 'invalid input: a/b~c.d: type: got integer, want string');
    const long = nested({ ['x'.repeat(5_000)]: { d: 1 } }) ?? '';
    assert.match(long, /^invalid input: x+…\.d: type: got integer, want string$/);
    assert.ok(long.length < 150, long);
  });
});

describe('all violations of a schema', () => {
  const find = compileViolations(INPUT, 'invalid input');
  const checkAll = (value: unknown): readonly string[] => find(value).map(({ message }) => message);

  it('are reported once each, in the same forms as the first one alone', () => {
    const value = { image_urls: ['1', 2, 2, 3], duration: 31, size: 1 };

    const problems = checkAll(value);

    assert.ok(problems.includes(check(value) ?? 'nothing'));
    assert.deepEqual([...problems].sort(), [
      'additional properties not allowed: size',
      'invalid input: duration: maximum: got 31, want 30',
      'invalid input: image_urls.1: type: got integer, want string',
      'invalid input: image_urls.2: type: got integer, want string',
      'invalid input: image_urls.3: type: got integer, want string',
      'invalid input: image_urls: maxItems: got 4, want 3',
      'invalid input: missing property: prompt',
    ]);
    assert.deepEqual(checkAll({ prompt: 'a' }), []);
  });

  it('have the field and the keyword of the schema apart from the message', () => {
    assert.deepEqual(
      find({ prompt: 'a', image_urls: ['1', 2], size: 1 }).map(({ field, keyword }) => [field, keyword]),
      [
        ['input.size', 'additionalProperties'],
        ['input.image_urls.1', 'type'],
      ],
    );
    assert.deepEqual(
      find({}).map(({ field, keyword }) => [field, keyword]),
      [['input.prompt', 'required']],
    );
  });

  it('are at most a hundred', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, 1]));

    assert.equal(checkAll({ prompt: 'a', ...many }).length, 100);
  });

  it('are not collected for a value with too many members: only the first is reported', () => {
    const huge = { prompt: 'a', image_urls: Array.from({ length: 1_000_000 }, () => 1) };
    const before = process.memoryUsage().heapUsed;

    const problems = checkAll(huge);

    assert.equal(problems.length, 1);
    assert.ok(process.memoryUsage().heapUsed - before < 100_000_000);
  });
});

describe('a schema', () => {
  it('may be compiled again and again, with another meaning under the same names', () => {
    for (const maximum of [1, 2, 3]) {
      const schema = {
        $id: 'https://example.com/input',
        type: 'object',
        properties: { n: { $ref: '#/$defs/n' }, m: { $ref: 'n.json' } },
        $defs: { n: { type: 'integer', maximum }, m: { $id: 'n.json', type: 'integer', maximum } },
      };
      const { $id, ...nameless } = { ...schema, properties: { n: schema.properties.n } };
      assert.ok($id !== '');
      for (const check of [compileCheck(schema, 'invalid input'), compileCheck(nameless, 'invalid input')]) {
        assert.equal(check({ n: maximum }), undefined);
        assert.match(check({ n: maximum + 1 }) ?? '', /^invalid input: n: maximum/);
      }
      assert.match(compileCheck(schema, 'invalid input')({ m: maximum + 1 }) ?? '', /^invalid input: m: maximum/);
    }
  });

  it('that could not be compiled leaves nothing behind', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#/$defs/missing' } } };
    assert.throws(() => compileCheck(schema, 'invalid input'), /can't resolve reference/);
    assert.throws(() => compileCheck(schema, 'invalid input'), /can't resolve reference/);
  });
});

describe('a schema that cannot be compiled', () => {
  it('is rejected by strict mode rather than partly enforced', () => {
    assert.throws(
      () => compileCheck({ type: 'object', propreties: {} }, 'invalid input'),
      /unknown keyword: "propreties"/,
    );
    assert.throws(() => compileCheck({ type: 'strnig' }, 'invalid input'), /schema is invalid/);
  });
});
