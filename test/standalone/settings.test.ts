/** Problems with the environment that `npm start` reports before it starts anything. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ConfigurationError } from '../../src/config/environment.ts';
import { readSettings } from '../../src/standalone/settings.ts';

it('reports an invalid callback header prefix together with all other problems', () => {
  assert.throws(
    () => readSettings({ LOG_REQUESTS: 'yes', CALLBACK_HEADER_PREFIX: 'Webhook' }),
    (error: unknown) => {
      assert.ok(error instanceof ConfigurationError);
      const names = error.problems.map((problem) => problem.split(':')[0]);
      assert.deepEqual(new Set(names), new Set(['CALLBACK_HEADER_PREFIX', 'LOG_REQUESTS']));
      return true;
    },
  );
});
