/** A worker that cannot start ends, and logs why: its supervisor restarts it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startDarkroom } from '../support/darkroom.ts';

it('exits when the Temporal namespace does not exist', async () => {
  const environment = { TEMPORAL_NAMESPACE: 'nowhere' };

  await assert.rejects(startDarkroom({ apis: 0, environment }), (error: Error) => {
    assert.match(error.message, /^the worker ended with 1:/);
    assert.match(error.message, /nowhere/);
    return true;
  });
});
