/** The models' pages: the price of each in words, its input, and requests that work when copied. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, describe, it } from 'node:test';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createKey } from '../../src/accounts/keys.ts';
import { loadModels } from '../../src/catalogue/load-models.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { presentModel } from '../../src/presenters/model.ts';
import { priceWords } from '../../packages/dashboard/src/pages/models/price-words.ts';
import { samples } from '../../packages/dashboard/src/pages/models/samples.ts';
import { pythonLiteral } from '../../packages/dashboard/src/pages/models/request-code.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { OPERATORS_MODEL, operatorsModel } from './support/operators-model.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';

const operators = await operatorsModel();
const darkroom = await startDarkroom({ environment: operators.environment });
const browser = await launchBrowser();
after(async () => {
  await browser.close();
  await darkroom.stop();
  await rm(operators.folder, { recursive: true, force: true });
});
const account = await darkroom.createAccount();
const models = await loadModels([packageFile('models'), operators.folder], PROTOCOLS);
const open = (path: string, width = 1280) =>
  openSignedInPage(browser, { url: darkroom.url, key: account.client.key, path, width });

describe('a price in words', () => {
  it('says every amount that the rules of a model have', () => {
    for (const model of models) {
      const { short, lines } = priceWords(presentModel(model).pricing);
      assert.match(short, /^(from )?\$\d/, model.name);
      assert.ok(lines.length > 0, model.name);
      const said = lines.join('\n');
      assert.doesNotMatch(said, /undefined|NaN|\[object/, model.name);
      const { pricing } = model;
      if (pricing.unit === 'token') continue;
      for (const value of Object.keys(pricing.by?.usd ?? {}))
        assert.ok(said.includes(value), `${model.name}: ${value}`);
      for (const { factor } of pricing.factors ?? []) assert.ok(said.includes(factor), `${model.name}: ${factor}`);
    }
  });

  it('does not round, and says thousands where one is too little to say', () => {
    assert.deepEqual(priceWords({ unit: 'character', usd: '0.000015', text: { field: 'text' } }), {
      short: '$0.015 per 1,000 characters',
      lines: ['$0.015 per 1,000 characters', 'counted in “text”'],
    });
    assert.equal(priceWords({ unit: 'character', usd: '0.0150001' }).short, '$15.0001 per 1,000 characters');
    assert.equal(priceWords({ unit: 'task', usd: '3' }).short, '$3.00 per task');
    const byResolution = { field: 'resolution', usd: { '1K': '0.04', '2K': '0.08' } };
    assert.deepEqual(priceWords({ unit: 'image', usd: '0.04', by: byResolution }), {
      short: 'from $0.04 per picture',
      lines: ['$0.04 per picture, resolution 1K', '$0.08 per picture, resolution 2K'],
    });
    assert.equal(
      priceWords({ unit: 'token', inputUsd: '0.05', outputUsd: '0.2' }).short,
      '$0.05 in, $0.20 out per million tokens',
    );
  });
});

describe('a request in code', () => {
  it('spells JSON as Python does', () => {
    const literal = pythonLiteral({ a: [true, false, null], b: 'say "hi"\n', c: {}, d: 1.5 });

    assert.equal(
      literal,
      '{\n    "a": [\n        True,\n        False,\n        None,\n    ],\n    "b": "say \\"hi\\"\\n",\n    "c": {},\n    "d": 1.5,\n}',
    );
  });
});

describe('the list of models', () => {
  it('shows every model with its price and a sample made by it', async () => {
    const signedIn = await open('/models');
    const { page } = signedIn;
    await page.getByText(`${models.length} models`, { exact: true }).waitFor();

    for (const model of models) {
      const card = page
        .getByRole('listitem')
        .filter({ has: page.getByRole('link', { name: model.name, exact: true }) });
      await card.getByText(priceWords(presentModel(model).pricing).short, { exact: true }).waitFor();
      const isOurs = model.ownedBy === 'darkroom' && model.modality !== 'text';
      assert.equal(samples[model.name] !== undefined, isOurs, `${model.name}: there is a sample of ours alone`);
    }
    await expectNoViolations(page);
    await signedIn.close();
  });

  it('plays a sample in its card', async () => {
    const signedIn = await open('/models?kind=video');
    const { page } = signedIn;
    await page.getByRole('button', { name: 'Play the sample of darkroom/motion', exact: true }).click();

    await page.getByRole('button', { name: 'Pause the sample of darkroom/motion', exact: true }).click();

    await page.getByRole('button', { name: 'Play the sample of darkroom/motion', exact: true }).waitFor();
    await signedIn.close();
  });

  it('is searched and narrowed by kind, in an address that can be shared', async () => {
    const signedIn = await open('/models');
    const { page } = signedIn;
    await page.getByRole('radiogroup').getByText('Sounds', { exact: true }).click();
    await page.getByRole('searchbox', { name: 'Search the models' }).fill('speech');

    await page.getByText('1 model', { exact: true }).waitFor();
    assert.match(page.url(), /kind=audio/);
    await page.reload();
    await page.getByText('1 model', { exact: true }).waitFor();

    await page.getByRole('searchbox', { name: 'Search the models' }).fill('nothing has this in it');
    await page.getByRole('button', { name: 'Show all models' }).click();
    await page.getByText(`${models.length} models`, { exact: true }).waitFor();
    await signedIn.close();
  });

  it('says what is missing to a key that may not see models', async () => {
    const key = await darkroom.testDatabase.database.transaction((transaction) =>
      createKey(transaction, account.id, { name: 'no models', scopes: ['dashboard'] }),
    );
    const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: key.text, path: '/models' });

    await signedIn.page.getByText('Your key may not see the models').waitFor();

    await expectNoViolations(signedIn.page);
    await signedIn.close();
  });
});

describe("a model's page", () => {
  it('opens from its card with the keyboard, and tells every field of the input', async () => {
    const signedIn = await open('/models');
    const { page } = signedIn;
    await page.getByRole('link', { name: 'darkroom/speech', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'darkroom/speech' }).waitFor();

    const speech = models.find(({ name }) => name === 'darkroom/speech');
    assert.ok(speech !== undefined && speech.modality !== 'text');
    for (const field of Object.keys(speech.inputSchema['properties'] as object)) {
      await page.getByRole('rowheader', { name: field, exact: true }).waitFor();
    }
    await page.getByRole('row', { name: /^pitch number -12 to 12 0/ }).waitFor();
    await expectNoViolations(page);
    await signedIn.close();
  });

  it('shows requests that work as they are, with curl and with JavaScript', async () => {
    const signedIn = await open('/models/darkroom/scene');
    const { page } = signedIn;
    const environment = { ...process.env, DARKROOM_API_KEY: account.client.key };
    const shell = (await page.getByRole('region', { name: 'The request in curl' }).textContent()) ?? '';
    const curl = await promisify(execFile)('sh', ['-c', shell], { env: environment });
    assert.equal((JSON.parse(curl.stdout) as { data: { model: string } }).data.model, 'darkroom/scene');

    await page.getByRole('radiogroup').getByText('JavaScript', { exact: true }).click();
    const script = (await page.getByRole('region', { name: 'The request in JavaScript' }).textContent()) ?? '';
    const node = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: environment,
    });
    assert.match(node.stdout, /^http.*\/media\//);
    await signedIn.close();
  });

  it('shows how a text model is called, at any width', async () => {
    const signedIn = await open('/models/darkroom/conformance-text', 360);
    const { page } = signedIn;
    await page.getByRole('radiogroup').getByText('OpenAI client', { exact: true }).click();

    await page.getByText('client.chat.completions.create').waitFor();

    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    assert.equal(overflow, 0, 'nothing sticks out of a narrow window');
    await expectNoViolations(page);
    await signedIn.close();
  });

  it('says of a model on its way out until when it is there, and what to use instead', async () => {
    const signedIn = await open('/models');
    const { page } = signedIn;
    const card = page.getByRole('listitem').filter({ hasText: OPERATORS_MODEL });
    await card.getByText(/^Stops on /).waitFor();
    await card.getByText('No sample yet').waitFor();
    await card.getByText('2 routes').waitFor();
    await card.getByRole('link', { name: OPERATORS_MODEL, exact: true }).click();

    await page.getByText(/^It takes no requests from /).waitFor();
    await page.getByRole('rowheader', { name: 'canvas.width' }).waitFor();
    await expectNoViolations(page);
    await page.getByRole('link', { name: 'darkroom/scene', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'darkroom/scene' }).waitFor();
    await signedIn.close();
  });

  it('says so where there is no such model', async () => {
    const signedIn = await open('/models/nobody/nothing');
    signedIn.expect(/404/);

    await signedIn.page.getByText('There is no such model').waitFor();

    await signedIn.close();
  });
});
