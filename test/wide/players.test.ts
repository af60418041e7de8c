/**
 * The same as test/web/players.test.ts with direct downloads: the bytes of video and audio come from a real S3
 * server, which is another origin for the browser, under the policy of the page.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { startS3Server, whyNoS3Server } from '../support/versitygw.ts';
import type { S3Server } from '../support/versitygw.ts';
import { waitForImage } from '../web/support/loaded-image.ts';
import { makeAndPlay } from '../web/support/players.ts';
import { openSignedInPage } from '../web/support/signed-in-page.ts';

describe('with direct downloads', { skip: whyNoS3Server() }, () => {
  let server: S3Server;
  let darkroom: Darkroom;
  let browser: Browser;
  before(async () => {
    server = await startS3Server('outputs');
    darkroom = await startDarkroom({
      environment: {
        STORE_URL: 's3://outputs/kept',
        S3_ENDPOINT: server.endpoint,
        S3_REGION: server.region,
        S3_ACCESS_KEY_ID: server.accessKeyId,
        S3_SECRET_ACCESS_KEY: server.secretAccessKey,
        DOWNLOADS: 'direct',
      },
    });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
    await server?.stop();
  });

  async function open() {
    const account = await darkroom.createAccount();
    const signedIn = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
    // Requests to the store, and to no other host.
    signedIn.expect(new RegExp(`^foreign request: ${server.endpoint}/outputs/`));
    return { ...signedIn, signedIn, account };
  }

  for (const model of ['darkroom/speech', 'darkroom/motion']) {
    it(`what ${model} made is played everywhere, from parts that the store sends`, async () => {
      const { signedIn, account, close } = await open();

      const statuses = await makeAndPlay(signedIn, darkroom.url, account, model);

      assert.deepEqual(
        [...new Set(statuses)].toSorted((one, other) => one - other),
        [206, 307],
      );
      await close();
    });
  }

  it('an image is drawn, and downloaded as a file', async () => {
    const { page, close } = await open();
    await page.goto(`${darkroom.url}/playground/darkroom/scene?example=0`);
    await page.getByRole('button', { name: 'Run' }).click();
    const image = page.getByRole('img', { name: 'Output 1 of darkroom/scene' });
    await image.waitFor();
    await waitForImage(image);

    const downloaded = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    assert.match((await downloaded).suggestedFilename(), /^tk-svc-\w+-1\.png$/);
    await close();
  });
});
