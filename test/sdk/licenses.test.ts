/** What people install carries the licenses of what it consists of. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { packageFile } from '../../src/config/package-root.ts';

const read = (file: string): string => readFileSync(packageFile(file), 'utf8');

for (const name of ['ai-sdk-provider', 'sdk-js', 'sdk-python']) {
  it(`packages/${name} carries the license of Darkroom`, () => {
    assert.equal(read(`packages/${name}/LICENSE`), read('LICENSE'));
  });
}

it('packages/sdk-js carries the license of what is bundled into it', () => {
  assert.ok(read('packages/sdk-js/NOTICE.md').includes(read('node_modules/eventsource-parser/LICENSE').trim()));
});
