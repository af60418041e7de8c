/** Credentials by name. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSecretSource } from '../../src/upstreams/secrets.ts';

describe('the secret source', () => {
  it('finds a credential however its name is written, and drops the line end of a file', () => {
    const secrets = createSecretSource({ MY_UPSTREAM: 'sk-1\n' });

    assert.equal(secrets.get('my-upstream'), 'sk-1');
    assert.equal(secrets.get('MY_UPSTREAM'), 'sk-1');
  });

  it('has none for a name that is not configured, configured empty, or a built-in property', () => {
    const secrets = createSecretSource({ EMPTY: ' ' });

    for (const name of ['empty', 'other', 'constructor', '__proto__']) assert.equal(secrets.get(name), undefined);
  });
});
