import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withDefaults } from '../../src/catalogue/input-defaults.ts';
import { acceptsItsDefaults, embeddedModels } from './spec-fields.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    prompt: { type: 'string' },
    duration: { type: 'integer', default: 5 },
    draft: { type: 'boolean', default: false },
    anything: true,
  },
};

describe('an input with the defaults of its schema', () => {
  it('has the defaults of omitted fields, and nothing for those without a default', () => {
    assert.deepEqual(withDefaults(SCHEMA, { prompt: 'a' }), { prompt: 'a', duration: 5, draft: false });
    assert.deepEqual(withDefaults({}, { prompt: 'a' }), { prompt: 'a' });
  });

  it('keeps what was sent, whatever it is', () => {
    const input = { prompt: 'a', duration: 1, draft: true };

    assert.deepEqual(withDefaults(SCHEMA, input), input);
    assert.deepEqual(withDefaults(SCHEMA, { draft: null }), { duration: 5, draft: null });
  });

  it('is accepted by every embedded model', async () => {
    for (const model of await embeddedModels()) assert.ok(acceptsItsDefaults(model), model.definition.name);
  });
});
