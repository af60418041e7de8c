/** The cost of a first visit: how much script is sent before each page works, compressed as browsers receive it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Request } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startDarkroom } from '../support/darkroom.ts';
import type { Darkroom, TestAccount } from '../support/darkroom.ts';
import { openSignedInPage } from './support/signed-in-page.ts';

/** The promise for a first load. Pages that draw charts or forms load more when they are opened. */
const MOST_SCRIPT_BYTES = 250 * 1024;

let darkroom: Darkroom;
let account: TestAccount;
let browser: Browser;
before(async () => {
  darkroom = await startDarkroom({ workers: 0 });
  account = await darkroom.createAccount();
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  await darkroom?.stop();
});

describe('the first load', () => {
  for (const path of ['/', '/models', '/tasks', '/storage', '/keys']) {
    it(`of ${path} has little script, compressed, with names that are kept for good`, async () => {
      const opened = await openSignedInPage(browser, { url: darkroom.url, key: account.client.key });
      const { page } = opened;
      // What the first page still loads does not count.
      await page.goto('about:blank');
      const scripts: Request[] = [];
      page.on('requestfinished', (request) => {
        if (request.resourceType() === 'script') scripts.push(request);
      });
      // As for a first-time visitor: nothing is cached.
      const session = await page.context().newCDPSession(page);
      await session.send('Network.setCacheDisabled', { cacheDisabled: true });
      await page.goto(darkroom.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();

      let bytes = 0;
      for (const request of scripts) {
        bytes += (await request.sizes()).responseBodySize;
        const headers = (await (await request.response())?.allHeaders()) ?? {};
        assert.match(headers['cache-control'] ?? '', /immutable/, request.url());
        assert.equal(headers['vary'], 'Accept-Encoding');
      }
      assert.ok(scripts.length > 0);
      assert.ok(bytes < MOST_SCRIPT_BYTES, `${bytes} bytes in ${scripts.length} scripts`);
      await opened.close();
    });
  }
});
