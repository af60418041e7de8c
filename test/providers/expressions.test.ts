/** Expressions of model files: their limits, and that one that misbehaves does not affect others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnswerThreads } from '../../src/providers/answer-threads.ts';
import { ExpressionError, evaluateExpressions } from '../../src/providers/http/expressions.ts';

const UPSTREAM = 'http:provider.test';

/** Evaluates expressions in threads with a time limit. */
function createExpressions(timeoutMs: number) {
  const threads = createAnswerThreads({ timeoutMs });
  return {
    evaluate: <Name extends string>(texts: Record<Name, string | undefined>, document: unknown, variables: object) =>
      evaluateExpressions(threads, UPSTREAM, texts, { document, variables: { ...variables } }),
  };
}

/** Long enough for an honest expression on a slow machine. */
const expressions = createExpressions(30_000);
const hasty = createExpressions(1_500);

/** The result of evaluating one expression. */
async function valueOf(text: string, document: unknown = {}, variables = {}): Promise<unknown> {
  return (await expressions.evaluate({ it: text }, document, variables)).of('it');
}

function isError(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ExpressionError && error.code === code && !/secret/.test(error.message);
}

describe('an expression of a model file', () => {
  it('sees the document and the variables, and is undefined when there is no value', async () => {
    const document = { status: 'done', files: [{ url: 'a' }, { url: 'b' }] };

    assert.deepEqual(await valueOf('files.url', document), ['a', 'b']);
    assert.equal(
      await valueOf("$input.prompt & ' for ' & $taskId", document, { input: { prompt: 'x' }, taskId: 't' }),
      'x for t',
    );
    assert.equal(await valueOf('nothing.here', document), undefined);
    assert.equal(await valueOf('$hookUrl', document, { hookUrl: undefined }), undefined);
  });

  it('is evaluated beside others without being affected by their failure', async () => {
    const values = await expressions.evaluate({ good: 'a', bad: '$number(a)', absent: undefined }, { a: 'secret' }, {});

    assert.equal(values.of('good'), 'secret');
    assert.equal(values.of('absent'), undefined);
    assert.throws(() => values.of('bad'), isError('D3030'));
  });

  it('is never compiled from data', async () => {
    await assert.rejects(valueOf('$eval(a)', { a: '1 + 1' }), isError('T1006'));
  });

  it('reads JSON that the document has as a text, and gives nothing for any other value', async () => {
    const fields = '{"key":"a/b.png","tags":["x","y"],"n":1.5,"none":null}';

    assert.deepEqual(await valueOf('$parseJson(fields)', { fields }), JSON.parse(fields));
    assert.deepEqual(await valueOf('$parseJson(fields).tags', { fields }), ['x', 'y']);
    assert.equal(await valueOf('(fields ~> $parseJson).n', { fields }), 1.5);
    assert.equal(await valueOf('$parseJson(a)', { a: ' null ' }), null);
    for (const a of ['', '{', "{'a':1}", '{"a":1}x', 'undefined', 'NaN', 7, true, null, { b: 1 }, ['1', '2']]) {
      assert.equal(await valueOf('$parseJson(a)', { a }), undefined, JSON.stringify(a));
    }
    assert.equal(await valueOf('$parseJson(nothing)'), undefined);
    assert.equal(await valueOf('$parseJson()'), undefined);
  });

  it('reads no JSON that is longer, deeper or of more parts than an answer may be', async () => {
    const long = (length: number): string => JSON.stringify('x'.repeat(length - 2));
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const MB = 1024 * 1024;

    assert.equal(String(await valueOf('$parseJson(a)', { a: long(MB) })).length, MB - 2);
    await assert.rejects(valueOf('$parseJson(a)', { a: long(MB + 1) }), isError('FAILED'));
    assert.equal(await valueOf('$type($parseJson(a))', { a: nested(64) }), 'array');
    await assert.rejects(valueOf('$parseJson(a)', { a: nested(65) }), isError('FAILED'));
    await assert.rejects(valueOf('$parseJson(a)', { a: nested(500_000) }), isError('FAILED'));
    await assert.rejects(valueOf('$parseJson(a)', { a: `[${'0,'.repeat(300_000)}0]` }), isError('FAILED'));
    // However often: the thread has its time.
    const again = hasty.evaluate({ it: '$map([1..100000], function() { $parseJson($$.a) })' }, { a: long(MB) }, {});
    await assert.rejects(again, (error) => isError('TIMEOUT')(error) || isError('DIED')(error));
    assert.equal(await valueOf('$parseJson(a)', { a: '1' }), 1);
  });

  it('cannot be given a prototype by JSON, nor an expression', async () => {
    const a = '{"__proto__":{"admin":true},"deep":[{"\\u005f_proto__":{"admin":true},"b":1}],"constructor":{"c":2}}';

    const parsed = await valueOf('$parseJson(a)', { a });
    assert.deepEqual(parsed, { deep: [{ b: 1 }], constructor: { c: 2 } });
    assert.equal(await valueOf('$merge([$parseJson(a), {"x": 1}]).admin', { a }), undefined);
    assert.equal(await valueOf('$parseJson(a).deep[0].admin', { a }), undefined);
    assert.equal(await valueOf('{}.admin'), undefined);
    assert.equal(({} as { admin?: unknown }).admin, undefined);
    assert.equal(await valueOf('$parseJson(a)', { a: '"1 + 1"' }), '1 + 1');
  });

  it('stops at an endless list or recursion', async () => {
    await assert.rejects(valueOf('[1..1000000]'), isError('D2015'));
    await assert.rejects(valueOf('($f := function($x) { 1 + $f($x + 1) }; $f(1))'), isError('D1011'));
  });

  it('is ended with its thread when it does not terminate, and the next ones are evaluated', async () => {
    const endless = hasty.evaluate({ it: '$match(a, /(a+)+$/)' }, { a: `${'a'.repeat(60)}!` }, {});
    const next = hasty.evaluate({ it: 'a' }, { a: 1 }, {});

    await assert.rejects(endless, isError('TIMEOUT'));
    assert.equal((await next).of('it'), 1);
  });

  it('may return as much as the largest response', async () => {
    const base64 = 'A'.repeat(5_000_000);

    assert.equal(String(await valueOf('data.b64', { data: { b64: base64 } })).length, base64.length);
  });
});
