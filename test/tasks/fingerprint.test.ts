import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fingerprint } from '../../src/tasks/record/fingerprint.ts';
import { findUnstorableText } from '../../src/tasks/record/storable-text.ts';

const hashOf = (json: string): string => fingerprint(JSON.parse(json) as Record<string, unknown>).hash.toString('hex');

describe('the fingerprint of a request', () => {
  // Proves C2-20.
  it('never changes under one version: stored keys are compared with it permanently', () => {
    // The request whose hash was recorded, with the names of that time.
    const print = fingerprint({ model: 'acme/pictures', input: { prompt: 'a fox' } });

    assert.equal(print.version, 1);
    assert.equal(print.hash.toString('hex'), 'b4ce532c69f42de12426606a9a39c0595400d5422878c1962e4236d8ab6bac16');
  });

  // Proves C2-19.
  it('is the same for equal requests: fields in another order, the default route in any spelling', () => {
    const same = ['{"model":"m","input":{"a":1,"b":2}}', '{"input":{"b":2,"a":1},"model":"m"}'];
    const routes = [
      '{"model":"m","input":{"a":1,"b":2},"route":""}',
      '{"route":"default","model":"m","input":{"a":1,"b":2}}',
    ];

    assert.equal(new Set([...same, ...routes].map(hashOf)).size, 1);
  });

  // Proves C2-19.
  it('differs for everything else', () => {
    const others = [
      '{"model":"m","input":{}}',
      '{"model":"m","input":{},"route":null}',
      '{"model":"m","input":{},"route":"fast"}',
      '{"model":"m","input":{},"storage":"temp"}',
      '{"model":"m","input":{},"callback":null}',
      '{"model":"m@default","input":{}}',
      '{"model":"M","input":{}}',
      '{"model":"m","input":{"a":null}}',
      '{"model":"m","input":{"a":[1,2]}}',
      '{"model":"m","input":{"a":[2,1]}}',
      '{"model":"m","input":{"a":"1"}}',
      '{"model":"m","input":{"a":1}}',
      '{"model":"m","input":{"route":"default"}}',
      '{"model":"m","input":{"__proto__":{"a":1}}}',
    ];

    assert.equal(new Set(others.map(hashOf)).size, others.length);
  });
});

describe('text that cannot be stored', () => {
  const problem = 'must not contain U+0000 or half of a surrogate pair';

  it('is reported by the field that contains it', () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ input: { prompt: 'a\0' } }, `invalid input: prompt: ${problem}`],
      [{ input: { list: ['a', { deep: '\ud800' }] } }, `invalid input: list.1.deep: ${problem}`],
      [{ input: { 'a\0': 1 } }, `invalid input: ${problem}`],
      [{ metadata: { 'a\udc00': 'x' } }, `invalid request: metadata: ${problem}`],
      [{ callback: { url: '\udc00\ud800' } }, `invalid request: callback.url: ${problem}`],
    ];
    for (const [body, message] of cases) assert.equal(findUnstorableText(body)?.message, message);
  });

  it('is not any other text', () => {
    const texts = ['', '🦊', '\uFFFF', '\u0001', 'e\u0301', '\\u0000'];

    assert.equal(findUnstorableText({ input: { texts, number: 1, nothing: null } }), undefined);
  });
});
