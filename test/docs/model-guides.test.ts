/**
 * The program accepts the model files in the guides, and knows the features that the guide for text models lists for
 * each server.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { TEXT_FEATURES } from '@darkroom/api/facts/text-features';
import { createModelReader } from '../../src/catalogue/load-models.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

const GUIDES = ['README.md', 'docs/guides/text-models.md', 'docs/guides/adding-a-model.md'];
const JSON_BLOCK = /^```json\n([\s\S]*?)^```$/gm;

function textOf(page: string): string {
  return readFileSync(packageFile(page), 'utf8');
}

describe('the guides for models', () => {
  for (const page of GUIDES) {
    it(`${page} shows a complete model file that is valid as it is`, async () => {
      const blocks = [...textOf(page).matchAll(JSON_BLOCK)].map(([, block = '']) => block);
      const files = blocks.filter((block) => block.includes('"modality"'));
      assert.ok(files.length > 0);

      const texts = new Map(files.map((text, index) => [`${page}/${index}.json`, text]));
      const { definitions, problems } = await createModelReader(PROTOCOLS)(texts);

      assert.deepEqual(problems, []);
      assert.equal(definitions.length, files.length);
    });
  }

  it('name existing features, for llama.cpp, vLLM and Ollama', () => {
    const [, section = ''] = textOf('docs/guides/text-models.md').split('### Which features to declare');
    const rows = section.split('\n').filter((line) => /^\| (llama\.cpp|vLLM|Ollama)/.test(line));
    assert.equal(rows.length, 3);

    const known = new Set<string>(TEXT_FEATURES);
    for (const row of rows) {
      const features = [...(row.split('|')[3] ?? '').matchAll(/`(\w+)`/g)].map(([, feature = '']) => feature);
      assert.ok(features.length > 5, row);
      assert.deepEqual(
        features.filter((feature) => !known.has(feature)),
        [],
      );
    }
  });
});
