/**
 * The whole way of a new user, in one test: the link that signs in, a model among the models, its playground, a run,
 * the image on the page, and the same once more with another seed. The content of the pages is checked against the
 * API.
 */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createSignInLink, signInUrl } from '../../src/accounts/sessions.ts';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { waitFor } from '@darkroom/testing/wait-for';
import { waitForImage } from './support/loaded-image.ts';
import { expectNoViolations, openPageByLink } from './support/signed-in-page.ts';

const MODEL = 'darkroom/canvas';

const darkroom = await startDarkroom();
const browser = await launchBrowser();
after(async () => {
  await browser.close();
  await darkroom.stop();
});

interface Drawn {
  readonly naturalWidth: number;
  readonly naturalHeight: number;
  readonly src: string;
}

describe('the first image', () => {
  it('comes from a link that signs in, by way of Models and Playground, and once more with another seed', async () => {
    const account = await darkroom.createAccount();
    const link = await createSignInLink(darkroom.testDatabase.database, account.keyId, Date.now());
    const signedIn = await openPageByLink(browser, signInUrl(darkroom.url, link.secret));
    const { page } = signedIn;

    await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await page.getByRole('link', { name: MODEL, exact: true }).click();
    await page.getByRole('heading', { level: 1, name: MODEL }).waitFor();
    await expectNoViolations(page);
    await page.getByRole('link', { name: 'Open in the playground' }).click();
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/playground/${MODEL}`);
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('A tram in the rain');
    await page.getByRole('button', { name: 'Run' }).click();

    const image = page.getByRole('img', { name: `Output 1 of ${MODEL}` });
    await image.waitFor();
    await waitForImage(image);
    await expectNoViolations(page);
    const [first] = await tasksOf(account.client);
    assert.ok(first);
    const [output] = first.output ?? [];
    const drawn = await image.evaluate((element) => {
      const { naturalWidth, naturalHeight, src } = element as unknown as Drawn;
      return { naturalWidth, naturalHeight, src };
    });
    assert.deepEqual([drawn.naturalWidth, drawn.naturalHeight], [output?.width, output?.height]);
    assert.ok(drawn.src.startsWith(`${darkroom.url}/media/`), drawn.src);

    await page.getByRole('button', { name: 'Regenerate with new seed' }).click();
    await waitFor('another image replaces it', async () => {
      const shown = await image.getAttribute('src').catch(() => null);
      return shown !== null && shown !== drawn.src;
    });
    await waitForImage(image);
    const made = await tasksOf(account.client);
    assert.equal(made.length, 2, 'one task for each press');
    assert.notEqual(made[0]?.output?.[0]?.sha256, made[1]?.output?.[0]?.sha256, 'another seed, another image');
    await signedIn.close();
  });

  /** Newest first. */
  async function tasksOf(client: Awaited<ReturnType<typeof darkroom.createAccount>>['client']) {
    const { body } = await client.send('GET', '/v1/tasks');
    const { tasks } = body.data as unknown as { readonly tasks: readonly { readonly taskId: string }[] };
    return Promise.all(tasks.map(async ({ taskId }) => (await client.get(taskId)).body.data));
  }
});
