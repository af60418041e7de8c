/** The overview: a new account gets its first image with one press, and any other sees its outputs. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import { waitForImage } from './support/loaded-image.ts';
import { expectNoViolations, openSignedInPage } from './support/signed-in-page.ts';

const darkroom = await startDarkroom();
const browser = await launchBrowser();
after(async () => {
  await browser.close();
  await darkroom.stop();
});

describe('the overview', () => {
  it('leads a new account to a first image with one press, and shows the next steps', async () => {
    const account = await darkroom.createAccount();
    const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
    const { page } = signedIn;
    await page.getByRole('heading', { level: 1, name: /^Welcome/ }).waitFor();
    await page.getByRole('heading', { name: 'Generate your first image' }).waitFor();
    await expectNoViolations(page);

    await page.getByRole('button', { name: 'Generate' }).click();

    const image = page.getByRole('img', { name: /^Output 1 of darkroom\/scene/ });
    await image.waitFor();
    await waitForImage(image);
    await page.getByRole('heading', { name: 'Next steps' }).waitFor();
    await page.getByRole('link', { name: 'Download' }).waitFor();
    await expectNoViolations(page);

    await page.reload();

    await page.getByRole('link', { name: /^darkroom\/scene, generated/ }).waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Generate your first image' }).count(), 0);
    await expectNoViolations(page);
    await signedIn.close();
  });

  it('says what is missing if an account has no available balance', async () => {
    const account = await darkroom.createAccount({ usd: 0n });
    const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key, width: 360 });
    const { page } = signedIn;

    await page.getByText('The account has no available balance').waitFor();

    assert.equal(await page.getByRole('button', { name: 'Generate' }).isDisabled(), true);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    assert.equal(overflow, 0, 'nothing sticks out of a narrow window');
    await signedIn.close();
  });
});
