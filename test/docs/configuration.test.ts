/** docs/reference/configuration.md matches the list of variables. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { CONFIGURATION, renderConfiguration } from './render-configuration.ts';

describe('docs/reference/configuration.md', () => {
  it('is what the list of variables renders to', async () => {
    assert.equal(
      await readFile(CONFIGURATION, 'utf8'),
      renderConfiguration(),
      'run: npm run ts -- test/docs/render-configuration.ts',
    );
  });
});
