/** Times as the dashboard shows them, on a computer whose clock differs slightly from the service's. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom } from '../support/darkroom.ts';
import { openSignedInPage } from './support/signed-in-page.ts';

/** How far the browser is behind the service. */
const LATE_MS = 8_000;

describe('what has just happened', () => {
  let darkroom: Darkroom;
  let browser: Browser;
  before(async () => {
    darkroom = await startDarkroom({ workers: 0 });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await darkroom?.stop();
  });

  it('is never said to be still to come', async () => {
    const account = await darkroom.createAccount();
    const opened = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
    const { page } = opened;
    const { taskId } = (await account.client.create({ model: 'darkroom/scene', input: { prompt: 'A pier' } })).body
      .data;
    const { created } = (await account.client.get(taskId)).body.data;
    await page.clock.setFixedTime(created * 1000 - LATE_MS);

    await page.goto(`${darkroom.url}/tasks/${taskId}`);

    await page.locator('time').first().waitFor();
    const moments = await page.locator('time').allTextContents();
    assert.ok(moments.length > 0);
    assert.deepEqual([...new Set(moments)], ['now']);
    await opened.close();
  });
});
