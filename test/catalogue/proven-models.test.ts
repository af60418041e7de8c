/** The model files of the package, which the build has checked. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createModelReader, hashOfModel, readProvenModels } from '../../src/catalogue/load-models.ts';
import { readModelTexts } from '../../src/catalogue/model-files.ts';
import type { ModelTexts } from '../../src/catalogue/model-files.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

const CANVAS = packageFile('models/canvas.json');

async function changedCanvas(from: string, to: string): Promise<ModelTexts> {
  const text = (await readModelTexts([packageFile('models')])).get(CANVAS);
  assert.ok(typeof text === 'string' && text.includes(from));
  return new Map([[CANVAS, text.replace(from, to)]]);
}

describe('the model files that the build has checked', () => {
  it('are all of the package, and read as the same models', async () => {
    const texts = await readModelTexts([packageFile('models')]);
    const checked = await createModelReader(PROTOCOLS)(texts);

    const proven = await readProvenModels();

    assert.deepEqual([...proven], [...checked.proven()]);
    assert.equal(proven.size, checked.files.size);
    assert.deepEqual((await createModelReader(PROTOCOLS, proven)(texts)).files, checked.files);
  });

  it('are checked again once they have changed', async () => {
    const read = createModelReader(PROTOCOLS, await readProvenModels());

    const { files, problems } = await read(await changedCanvas('"usd"', '"euro"'));

    assert.equal(files.size, 0);
    assert.match(problems[0]?.message ?? '', /canvas\.json: .*pricing/);
  });

  it('are not checked while they are as they were', async () => {
    const texts = await changedCanvas('"usd"', '"euro"');
    const known = new Set([hashOfModel(JSON.parse(String(texts.get(CANVAS))))]);

    assert.equal((await createModelReader(PROTOCOLS, known)(texts)).files.size, 1);
  });
});
