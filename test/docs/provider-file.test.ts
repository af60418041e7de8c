/** docs/reference/provider-file.md matches the schemas, and every member is described. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { PROVIDER_FILE, renderProviderFile, sectionsOf } from './render-provider-file.ts';

describe('docs/reference/provider-file.md', () => {
  it('is what the schemas render to', async () => {
    assert.equal(
      await readFile(PROVIDER_FILE, 'utf8'),
      renderProviderFile(),
      'run: npm run ts -- test/docs/render-provider-file.ts',
    );
  });

  it('describes every member, down to the innermost', () => {
    const members = sectionsOf().flatMap((section) => section.members);

    assert.deepEqual(
      members.filter(({ description }) => description === '').map(({ path }) => path),
      [],
    );
    const paths = members.map(({ path }) => path);
    for (const path of [
      'checkedAt',
      'upstream.secret',
      'upstream.http.poll.state',
      'upstream.http.hook.verify.scheme',
    ]) {
      assert.ok(paths.includes(path), path);
    }
  });
});
