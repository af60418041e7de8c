import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAULT_KINDS, faultMessage, inputFault, isFaultKind, reasonOfFault } from '../src/facts/input-fault.ts';

describe('a fault of an input', () => {
  it('is reported with the path of its field and a message of its own', () => {
    const messages = FAULT_KINDS.map((kind) => faultMessage(inputFault(kind, 'image_urls.2')));

    for (const message of messages) assert.match(message, /^image_urls\.2: (a|the|this|no|nothing) /);
    assert.equal(new Set(messages).size, FAULT_KINDS.length);
    assert.equal(faultMessage({ kind: 'undecodable' }), 'the file could not be decoded');
  });

  it('fails a task for one of the two reasons of an input', () => {
    for (const kind of FAULT_KINDS) assert.match(reasonOfFault(kind), /^input_(unreachable|invalid)$/);
  });

  it('names no field when the path is not one of a schema, or is too long to report', () => {
    const long = 'a'.repeat(101);
    for (const field of [undefined, '', 'https://example.com/a.png', 'a b', 'a..b', '.a', 'a.', 'a\nb', long]) {
      assert.deepEqual(inputFault('gone', field), { kind: 'gone' }, field);
    }
    for (const field of ['text', 'image_urls.0', 'frames.0.image-url']) {
      assert.deepEqual(inputFault('gone', field), { kind: 'gone', field });
    }
  });

  it('is recognised among other texts, members of every object included', () => {
    for (const kind of FAULT_KINDS) assert.equal(isFaultKind(kind), true);
    for (const other of ['', 'constructor', '__proto__', 'toString', null, undefined, 1]) {
      assert.equal(isFaultKind(other), false, String(other));
    }
  });
});
