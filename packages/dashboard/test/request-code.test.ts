/** Requests as code. That they work when they are copied is in test/web/models.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pythonLiteral } from '../src/pages/models/request-code.ts';

describe('a request in code', () => {
  it('spells JSON as Python does', () => {
    const literal = pythonLiteral({ a: [true, false, null], b: 'say "hi"\n', c: {}, d: 1.5 });

    assert.equal(
      literal,
      '{\n    "a": [\n        True,\n        False,\n        None,\n    ],\n    "b": "say \\"hi\\"\\n",\n    "c": {},\n    "d": 1.5,\n}',
    );
  });
});
