/** The JSON Schemas that editors use accept every file of this repository as it is written, and find what is wrong. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { modelFileSchema, providerFileSchema } from '../../src/catalogue/file-schemas.ts';
import { isProviderFile, readModelTexts } from '../../src/catalogue/model-files.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { compileCheck } from '../../src/schema/schema-validation.ts';
import { definition, textDefinition } from './definitions.ts';

const checkModel = compileCheck(modelFileSchema(PROTOCOLS), 'invalid model file');
const checkProvider = compileCheck(providerFileSchema(PROTOCOLS), 'invalid provider file');

describe('the JSON Schemas for editors', () => {
  it('accept every model and provider file that comes with the program, and the examples', async () => {
    const texts = await readModelTexts([packageFile('models'), packageFile('docs/examples')]);
    let [models, providers] = [0, 0];
    for (const [file, text] of texts) {
      assert.ok(typeof text === 'string', file);
      const isProvider = isProviderFile(file);
      assert.equal((isProvider ? checkProvider : checkModel)(JSON.parse(text)), undefined, file);
      if (isProvider) providers += 1;
      else models += 1;
    }
    assert.ok(models > 100 && providers > 15, `${models} ${providers}`);
  });

  it('accept the name of the schema, and null where it removes what the provider has', () => {
    const http = { auth: null, headers: { accept: null }, poll: { everySeconds: null } };
    const routes = { default: { upstreams: [{ provider: 'acme', model: 'm', http }] } };

    assert.equal(checkModel({ $schema: './.model.schema.json', ...definition(), routes }), undefined);
    assert.equal(checkModel({ $schema: './.model.schema.json', ...textDefinition() }), undefined);
  });

  it('reject what is wrong in a member, whether it completes a provider or not', () => {
    const withUpstream = (upstream: object) =>
      checkModel({ ...definition(), routes: { default: { upstreams: [upstream] } } });

    assert.match(withUpstream({ provider: 'acme', model: 'm', http: { poll: { evry: 1 } } }) ?? '', /evry/);
    assert.match(withUpstream({ provider: 'acme' }) ?? '', /missing property: routes\.default\.upstreams\.0\.model/);
    assert.match(withUpstream({ model: 'm' }) ?? '', /missing property: routes\.default\.upstreams\.0\.protocol/);
    assert.match(checkModel({ ...textDefinition(), features: ['flight'] }) ?? '', /features\.0/);
    assert.match(checkProvider({ name: 'acme' }) ?? '', /missing property: title/);
  });
});
