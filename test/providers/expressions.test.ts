/** Expressions of model files: their limits, and that one that misbehaves does not affect others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExpressionError, createExpressions } from '../../src/providers/http/expressions.ts';

/** Long enough for an honest expression on a slow machine. */
const expressions = createExpressions({ timeoutMs: 30_000 });
const hasty = createExpressions({ timeoutMs: 1_500 });

/** The result of evaluating one expression. */
async function valueOf(text: string, document: unknown = {}, variables = {}): Promise<unknown> {
  return (await expressions.evaluate({ it: text }, document, variables)).of('it');
}

function isError(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ExpressionError && error.code === code && !/secret/.test(error.message);
}

describe('an expression of a model file', { timeout: 180_000 }, () => {
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
