/** The playground in a real browser: forms built from schemas, runs from the press to the image, and conversations. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import sharp from 'sharp';
import { createKey } from '../../src/accounts/keys.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { waitForImage } from './support/loaded-image.ts';
import { OPERATORS_MODEL, operatorsModel } from './support/operators-model.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';

const operators = await operatorsModel();
const darkroom = await startDarkroom({ environment: operators.environment });
const browser = await launchBrowser();
after(async () => {
  await browser.close();
  await darkroom.stop();
  await rm(operators.directory, { recursive: true, force: true });
});

async function open(path: string, options: { width?: number; colorScheme?: 'light' | 'dark' } = {}) {
  const account = await darkroom.createAccount();
  const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key, path, ...options });
  return { ...signedIn, account };
}

describe('the form of a model', () => {
  it('reports every validation error at its field at once, and focuses the first', async () => {
    const { page, close } = await open('/playground/darkroom/song');
    await page.getByRole('button', { name: 'Run' }).click();

    await page.getByText('2 fields need your attention.').waitFor();
    assert.equal(await page.getByText('This field is required.').count(), 2);
    await page.getByRole('textbox', { name: 'Prompt' }).and(page.locator(':focus')).waitFor();

    await page.getByRole('textbox', { name: 'Prompt' }).fill('A slow waltz');
    await page.getByText('1 field needs your attention.').waitFor();
    await page.getByRole('textbox', { name: 'Duration, as a number' }).fill('9999');
    await page.getByText('Must be at most 300.').waitFor();
    await expectNoViolations(page);
    await close();
  });

  it('shows the price as it changes, and a request that has only what differs from the defaults', async () => {
    const { page, close } = await open('/playground/darkroom/canvas');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A boat');
    await page.getByText('Costs up to $0.015', { exact: true }).waitFor();

    await page.getByRole('radiogroup', { name: 'Size' }).getByText('1536x1024').click();
    await page.getByRole('slider', { name: 'N' }).focus();
    await page.keyboard.press('ArrowRight');

    await page.getByText('Costs up to $0.045', { exact: true }).waitFor();
    await page.getByText('2 × $0.015 per image × 1.5 (size)').waitFor();
    const block = page.getByRole('region', { name: 'The request in curl' });
    const copy = block.locator('..').getByRole('button', { name: 'Copy' });
    const [codeBox, copyBox] = [await block.boundingBox(), await copy.boundingBox()];
    assert.ok(codeBox !== null && copyBox !== null);
    assert.ok(codeBox.x + codeBox.width <= copyBox.x, 'the button covers nothing of the code');
    const code = (await block.textContent()) ?? '';
    const body = JSON.parse(/-d '([\s\S]*?)' \\/.exec(code)?.[1] ?? '') as unknown;
    assert.deepEqual(body, { model: 'darkroom/canvas', input: { prompt: 'A boat', size: '1536x1024', n: 2 } });
    await close();
  });

  it('accepts a file for a media field, shows it, and sends its URL', async () => {
    const { page, close } = await open('/playground/darkroom/retouch');
    const image = await sharp({ create: { width: 320, height: 200, channels: 3, background: '#3a6ea5' } })
      .png()
      .toBuffer();
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Sepia');
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Upload a file' }).click(),
    ]);
    await chooser.setFiles({ name: 'blue.png', mimeType: 'image/png', buffer: image });

    await waitForImage(page.getByRole('img', { name: 'Image 1' }));
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Run' }).click();
    const made = page.getByRole('img', { name: 'Output 1 of darkroom/retouch' });
    await made.first().waitFor();
    await waitForImage(made.first());

    await page.getByRole('button', { name: 'Remove Image 1' }).click();
    await page.getByRole('textbox', { name: 'URL for Image' }).fill('gopher://nowhere');
    await page.keyboard.press('Enter');
    await page.getByText('Enter a URL that starts with https://.').waitFor();
    await expectNoViolations(page);
    await close();
  });
});

describe("the form of an operator's model", () => {
  it('has objects, lists, choices of several, and routes', async () => {
    const { page, close } = await open(`/playground/${OPERATORS_MODEL}`);
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A harbour');
    await page.getByRole('group', { name: 'Palette' }).getByText('ochre').click();
    await page.getByRole('group', { name: 'Palette' }).getByText('indigo').click();
    await page.getByRole('textbox', { name: 'Width, as a number' }).fill('9999');
    await page.getByText('Must be at most 512.').waitFor();
    await page.getByRole('textbox', { name: 'Width, as a number' }).fill('256');
    await page.getByRole('radiogroup', { name: 'Texture' }).getByText('paper').click();
    await page.getByRole('combobox', { name: 'Route' }).selectOption('fast');
    await page.getByText('Costs up to $0.0425', { exact: true }).waitFor();

    const code = (await page.getByRole('region', { name: 'The request in curl' }).textContent()) ?? '';
    const body = JSON.parse(/-d '([\s\S]*?)' \\/.exec(code)?.[1] ?? '') as unknown;
    assert.deepEqual(body, {
      model: OPERATORS_MODEL,
      input: { prompt: 'A harbour', palette: ['ochre', 'indigo'], canvas: { width: 256, texture: 'paper' } },
      route: 'fast',
    });
    await expectNoViolations(page);
    await close();
  });
});

describe('a run', () => {
  it('shows its image, can be repeated with a new seed, and stays in the history', async () => {
    const { page, close, account } = await open('/playground/darkroom/canvas', { colorScheme: 'dark' });
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A fox in the snow');
    await page.keyboard.press('Control+Enter');

    const image = page.getByRole('img', { name: 'Output 1 of darkroom/canvas' });
    await image.waitFor();
    await waitForImage(image);
    await page.getByText(/cost \$0\.015/).waitFor();
    const downloaded = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    assert.match((await downloaded).suggestedFilename(), /^tk-svc-\w+-1\.png$/);

    await page.getByRole('button', { name: 'Regenerate with new seed' }).click();
    const history = page.getByRole('list', { name: 'Runs of this session' }).getByRole('button');
    await waitFor('both runs are listed as a success', async () => {
      const names = await history.evaluateAll((items) => items.map((item) => item.getAttribute('aria-label') ?? ''));
      return names.length === 2 && names.every((name) => name.endsWith(', success'));
    });
    await expectNoViolations(page);
    const { body } = await account.client.send('GET', '/v1/tasks?size=10');
    const { tasks } = body.data as unknown as { tasks: readonly { taskId: string }[] };
    assert.equal(tasks.length, 2, 'one task for each press');

    await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await page.goBack();
    assert.equal(await page.getByRole('textbox', { name: 'Prompt', exact: true }).inputValue(), 'A fox in the snow');
    await close();
  });

  it('can be cancelled, which is free', async () => {
    const { page, close } = await open('/playground/darkroom/motion-max');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A very long video of the sea');
    await page.getByRole('textbox', { name: 'Duration, as a number' }).fill('30');
    await page.getByRole('button', { name: 'Run' }).click();

    await page.getByRole('button', { name: 'Cancel' }).click();

    await page.getByRole('alert').getByText('The task was cancelled', { exact: true }).waitFor();
    await page.getByText(/You were not charged/).waitFor();
    await expectNoViolations(page);
    await page.getByRole('button', { name: 'Use this input' }).waitFor();
    await close();
  });

  it('that failed says why', async () => {
    const { page, close } = await open('/playground/darkroom/retouch');
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('Sepia');
    await page.getByRole('textbox', { name: 'URL for Image' }).fill('https://no-such-host.invalid/a.png');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Run' }).click();

    await page.getByText('The task failed', { exact: true }).waitFor();
    await page
      .getByText(/the URL could not be fetched/)
      .first()
      .waitFor();
    await expectNoViolations(page);
    await close();
  });

  it('fills the form again from its task', async () => {
    const account = await darkroom.createAccount();
    const { body } = await account.client.send('POST', '/v1/tasks', {
      model: 'darkroom/canvas',
      input: { prompt: 'A blue bicycle', quality: 'high', seed: 7 },
      storage: 'persistent',
    });
    const path = `/playground/darkroom/canvas?from=${body.data.taskId}`;
    const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key, path });
    const { page } = signedIn;

    await page.getByText(`Filled in from ${body.data.taskId}.`).waitFor();

    assert.equal(await page.getByRole('textbox', { name: 'Prompt', exact: true }).inputValue(), 'A blue bicycle');
    assert.equal(await page.getByRole('textbox', { name: 'Seed' }).inputValue(), '7');
    assert.equal(await page.getByRole('radio', { name: 'high' }).isChecked(), true);
    assert.equal(await page.getByRole('radio', { name: 'Persistent' }).isChecked(), true);
    await signedIn.close();
  });

  it('is not offered to a key that may not create tasks', async () => {
    const account = await darkroom.createAccount();
    const key = await darkroom.testDatabase.database.transaction((transaction) =>
      createKey(transaction, account.id, { name: 'looks', scopes: ['dashboard', 'models:read'] }),
    );
    const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: key.secret, path: '/playground' });

    await signedIn.page.getByText('Your key cannot create tasks').waitFor();

    await signedIn.close();
  });
});

describe('a conversation', () => {
  it('streams the response, with collapsed reasoning, function results entered by hand, and its cost', async () => {
    const { page, close } = await open('/playground/darkroom/conformance-text', { width: 375 });
    await page.getByRole('combobox', { name: 'Reasoning effort' }).selectOption('high');
    await page.getByRole('button', { name: 'Add function' }).click();
    await page.getByRole('textbox', { name: 'Your message' }).fill('What is the weather in Paris? Use get_weather.');
    await page.keyboard.press('Enter');

    await page.getByText('Calls get_weather').waitFor();
    await page.getByRole('textbox', { name: 'Result of get_weather' }).fill('{"sky":"clear"}');
    await page.getByRole('button', { name: 'Submit results' }).click();

    const log = page.getByRole('log', { name: 'Conversation' });
    await log.getByText(/clear/).last().waitFor();
    await page.getByText(/^This conversation: about \$0\.0/).waitFor();
    assert.equal(await log.locator('details').first().getAttribute('open'), null, 'thoughts are folded');
    await expectNoViolations(page);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    assert.equal(overflow, 0, 'nothing sticks out of a narrow window');
    await close();
  });
});
